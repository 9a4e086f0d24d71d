import { findHosts } from '#cells/db/hosts.ts'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { eventSubject } from '#openapi/wire.ts'
import type { Layout } from '../deployment/layout.ts'
import {
  type CellRecord,
  type DeploymentState,
  type JoinedDeployment,
  saveState,
} from '../deployment/state.ts'
import { prepareHosts } from '../hypervisors/prepare-hosts.ts'
import { startMariadb } from '../mariadb.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { type Nats, startNats } from '../nats.ts'
import { issueCellCredentials } from '../up/prepare-bus.ts'
import { cellDatabase, prepareCellDatabases } from '../up/prepare-databases.ts'
import { cellPrograms, computePrograms } from '../up/programs.ts'
import { privateDatabases } from '../up/services.ts'
import { type StartPrograms, startPrograms } from '../up/start-programs.ts'
import { untilReady } from '../up/wait-ready.ts'
import { openDatabase } from '../upkeep/open-database.ts'
import { uplinkCredentialsFile, uplinkOf } from './uplink.ts'

/** Afterwards every process of a cell that has joined runs, and its hosts are up. */
export async function startCell(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
  start: StartPrograms = startPrograms,
): Promise<DeploymentState> {
  const { cell, joined } = joinedCell(state)
  progress('Starting MariaDB and NATS ...')
  const [databases, nats, credentials] = await Promise.all([
    startMariadb(layout.mariadb, 'detached').then((mariadb) =>
      prepareCellDatabases(layout, privateDatabases(mariadb), state),
    ),
    startNats(layout.nats, 'detached', { uplink: uplinkOf(layout, cell) }),
    issueCellCredentials(layout, state),
  ])
  const { gatewayUrl, leafUrl: url } = joined
  const uplink = {
    url,
    port: nats.leafPort,
    credential: { file: uplinkCredentialsFile(layout), gatewayUrl },
  }
  const wiring = {
    bus: nats,
    uplink,
    credentials: { of: credentials },
    databases: { cells: databases },
  }
  progress('Starting the cell and its computes ...')
  const startServers = async () => start(layout, state, await cellPrograms(layout, state, wiring))
  const [started, { settings, guests }] = await Promise.all([
    startServers(),
    prepareHosts(layout, state, progress),
  ])
  const driver = { ...state.driver, ...(guests === undefined ? {} : { guests }) }
  const computes = computePrograms(layout, started, wiring, settings)
  const running = await start(layout, { ...started, driver }, computes)
  await waitForCell(layout, running, {
    cell,
    nats,
    credentialsFile: ownCredentials(credentials, cell),
  })
  const ready = { ...running, isReady: true }
  saveState(layout, ready)
  return ready
}

/** What `waitForCell` listens on. */
export interface CellBus {
  readonly cell: CellRecord
  readonly nats: Nats
  readonly credentialsFile: string
}

function joinedCell(state: DeploymentState): {
  readonly cell: CellRecord
  readonly joined: JoinedDeployment
} {
  const [cell] = state.cells
  const { joined } = state
  if (cell === undefined || joined === undefined) throw new Error('This is no cell that has joined')
  return { cell, joined }
}

function ownCredentials(credentials: ReadonlyMap<string, string>, { id }: CellRecord): string {
  const file = credentials.get(id)
  if (file === undefined) throw new Error(`Cell ${id} has no credentials`)
  return file
}

/** The server's answer on `$SYS.REQ.SERVER.PING.LEAFZ`. */
interface Leafs {
  readonly data?: { readonly leafnodes?: number }
}

/**
 * Afterwards the cell serves, and has recorded that all hosts of this folder are up; hosts elsewhere do not matter. The
 * first time, its bus has also reached the gateways' bus; later starts do not wait for that.
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
