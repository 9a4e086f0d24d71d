import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { computeInboxPrefix } from '#gateway/bus/accounts.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState, JoinedHost } from '../deployment/state.ts'
import { untilReady } from '../up/wait-ready.ts'
import { uplinkCredentialsFile } from './uplink.ts'

/**
 * Starts a host that its cell does not know yet, and waits until the cell has asked it something: a host may hear nothing
 * else of its cell, and a cell asks only hosts that it has written down.
 */
export async function hearCell(
  layout: Layout,
  host: JoinedHost,
  start: () => Promise<DeploymentState>,
  certificateFile: string | undefined,
): Promise<DeploymentState> {
  if (certificateFile !== undefined)
    setDefaultCACertificates([...getCACertificates(), readFileSync(certificateFile, 'utf8')])
  const { id, name, cell, busUrl: url } = host
  const credentialsFile = uplinkCredentialsFile(layout)
  const inboxPrefix = computeInboxPrefix(id)
  const log = createLogger('join', 'error')
  const bus = await connectBus({ url, credentialsFile, name: 'join', inboxPrefix }, log)
  let isAsked = false
  bus.subscribe(`host.${cell.id}.${id}.>`, {
    callback: (error) => {
      isAsked ||= error === null
    },
  })
  try {
    await bus.flush()
    const running = await start()
    await untilReady(layout, running, `cell ${cell.name} to know ${name}`, async () => isAsked)
    return running
  } finally {
    await bus.close()
  }
}
