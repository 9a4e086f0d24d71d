import { findHosts } from '#cells/db/hosts.ts'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { eventSubject } from '#openapi/wire.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import type { Nats } from '../nats.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import { untilReady } from '../up/wait-ready.ts'
import { openDatabase } from '../upkeep/open-database.ts'
import type { CellBus } from './start-cell.ts'

/** The server's answer on `$SYS.REQ.SERVER.PING.LEAFZ`. */
interface Leafs {
  readonly data?: { readonly leafnodes?: number }
}

/**
 * Afterwards the cell serves, and has written down that all hosts of this folder are up, whatever those elsewhere are; and, the
 * first time, its bus has reached the one above. Later it goes on where that cannot be reached.
 */
export async function waitForCell(
  layout: Layout,
  state: DeploymentState,
  { cell, nats, credentialsFile }: CellBus,
): Promise<void> {
  const log = createLogger('join', 'error')
  const bus = await connectBus({ url: nats.url, credentialsFile, name: 'join' }, log)
  await using db = openDatabase(layout, cellDatabase(cell.name))
  const ids = cell.hosts.map(({ id }) => id)
  let serves = false
  bus.subscribe(eventSubject(cell.id, 'heartbeat'), {
    callback: (error) => {
      serves ||= error === null
    },
  })
  const areUp = async () => {
    const known = await findHosts(db, ids)
    return serves && known.filter(({ isUp }) => isUp).length === ids.length
  }
  try {
    await untilReady(layout, state, `${ids.length} hosts to be up`, areUp)
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
