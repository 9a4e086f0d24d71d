import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { computeInboxPrefix } from '#gateway/bus/accounts.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, type JoinedHost, saveState } from '../deployment/state.ts'
import { prepareHosts } from '../hypervisors/prepare-hosts.ts'
import { computeProgram } from '../processes/compute.ts'
import { type StartPrograms, startPrograms } from '../up/start-programs.ts'
import { untilReady } from '../up/wait-ready.ts'
import { certificateFile, uplinkCredentialsFile } from './uplink.ts'

/** Afterwards the hypervisor and the compute of a host that has joined run; the first time, its cell knows it, too. */
export async function startHost(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
  startAll: StartPrograms = startPrograms,
): Promise<DeploymentState> {
  const { host } = state
  if (host === undefined) throw new Error('This deployment has not joined a cell as a host')
  const { settings, guests } = await prepareHosts(layout, state, progress)
  progress('Starting the compute ...')
  const own = certificateFile(layout)
  const caFile = existsSync(own) ? own : undefined
  const program = computeProgram(
    host.cell,
    host,
    {
      natsUrl: host.busUrl,
      natsCredentialsFile: uplinkCredentialsFile(layout),
      gatewayUrl: host.gatewayUrl,
      imageUrl: host.imageUrl,
      caFile,
      stateDirectory: join(layout.hosts, host.name),
      metricsTargets: layout.targets,
      driver: state.driver.name,
      driverSettings: settings.get(host.id) ?? {},
    },
    state.settings,
  )
  const driver = { ...state.driver, ...(guests === undefined ? {} : { guests }) }
  const start = () => startAll(layout, { ...state, driver }, [program])
  const running = state.isReady
    ? await start()
    : await awaitCellContact(layout, host, start, caFile)
  const ready = { ...running, isReady: true }
  saveState(layout, ready)
  return ready
}

/**
 * Starts a host that its cell does not know yet, and waits until the cell has asked it something: a host may hear nothing
 * else of its cell, and a cell asks only hosts that it has written down.
 */
export async function awaitCellContact(
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
  let hasContact = false
  bus.subscribe(`host.${cell.id}.${id}.>`, {
    callback: (error) => {
      hasContact ||= error === null
    },
  })
  try {
    await bus.flush()
    const running = await start()
    await untilReady(layout, running, `cell ${cell.name} to know ${name}`, async () => hasContact)
    return running
  } finally {
    await bus.close()
  }
}
