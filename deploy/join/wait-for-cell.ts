import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { checked } from '#openapi/wire/checked.ts'
import { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import type { Nats } from '../nats.ts'
import { untilReady } from '../up/wait-ready.ts'
import type { CellBus } from './start-cell.ts'

/** The server's answer on `$SYS.REQ.SERVER.PING.LEAFZ`. */
interface Leafs {
  readonly data?: { readonly leafnodes?: number }
}

/**
 * Afterwards the cell has said, on its own bus, that all its hosts are up; and, the first time, that bus has reached the
 * one above. Later it goes on where that cannot be reached.
 */
export async function waitForCell(
  layout: Layout,
  state: DeploymentState,
  { cell, nats, credentialsFile }: CellBus,
): Promise<void> {
  const log = createLogger('join', 'error')
  const bus = await connectBus({ url: nats.url, credentialsFile, name: 'join' }, log)
  let hostsUp = 0
  bus.subscribe(eventSubject(cell.id, 'heartbeat'), {
    callback: (error, message) => {
      if (error === null)
        hostsUp = checked(CellHeartbeat, message.json(), 'heartbeat').summary.hostsUp
    },
  })
  try {
    const { length } = cell.hosts
    await untilReady(layout, state, `${length} hosts to be up`, async () => hostsUp === length)
    if (!state.isReady)
      await untilReady(layout, state, 'the bus to reach the gateway’s', () => isLinked(nats))
  } finally {
    await bus.close()
  }
}

async function isLinked(nats: Nats): Promise<boolean> {
  const system = await connectSystem(nats.url, nats.keys.systemSeed)
  try {
    const reply = await system.request('$SYS.REQ.SERVER.PING.LEAFZ')
    return (reply.json<Leafs>().data?.leafnodes ?? 0) > 0
  } finally {
    await system.close()
  }
}
