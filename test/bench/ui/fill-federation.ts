import type { NatsConnection } from '@nats-io/transport-node'
import { sql } from 'drizzle-orm'
import { connectBus } from '#common/bus/connect.ts'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { queueEvents } from '#gateway/db/event-inbox.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { queueMappings } from '#gateway/db/instance-mappings.ts'
import { cellMappings } from '#gateway/db/schema/cells.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { CellHeartbeat, CellSummary } from '#openapi/wire/feed.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { eventSubject } from '#openapi/wire.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { sampleServer } from '#test/env/sample-server.ts'

export interface Size {
  readonly cells: number
  /** Of all cells. */
  readonly servers: number
}

/** Cells without programs: their rows are in the database, and their heartbeats on the bus. */
export interface Federation {
  readonly cells: readonly { readonly id: CellId; readonly name: string }[]
  /** A sample of the servers. */
  readonly servers: readonly string[]
  /** Afterwards so many servers have told of a change; users see each as an event. */
  change(count: number): Promise<void>
}

/** Where the rows and heartbeats go. */
export interface Site {
  readonly databaseUrl: string
  readonly natsUrl: string
  /** Of a gateway. */
  readonly credentialsFile: string
  /** Whose servers they are. */
  readonly projectId: string
}

interface Cell {
  readonly id: CellId
  readonly name: string
  readonly incarnation: string
  readonly hosts: readonly HostView[]
}

const HOSTS_PER_CELL = 10
const BATCH = 500
const SAMPLE_EVERY = 97
const HEARTBEAT_MS = 1_000
const HOST = { vcpus: 64, memoryMb: 262_144, diskGb: 4_000 } as const
const log = createLogger('bench', 'silent')

/** Afterwards the site has these cells and servers too, and the cells are reachable; `owned` ends their heartbeats. */
export async function fillFederation(
  owned: AsyncDisposableStack,
  { databaseUrl, natsUrl, credentialsFile, projectId }: Site,
  size: Size,
): Promise<Federation> {
  const db = owned.use(new Database({ url: databaseUrl, connectionsMax: 4 }))
  const cells: Cell[] = []
  for (let nth = 1; nth <= size.cells; nth += 1) cells.push(await addCell(db, nth))
  const perCell = Math.ceil(size.servers / size.cells)
  const servers: string[] = []
  for (const cell of cells) servers.push(...(await addServers(db, projectId, cell, perCell)))
  const nats = await connectBus({ url: natsUrl, credentialsFile, name: 'bench' }, log)
  owned.defer(() => nats.close())
  const beating = setInterval(() => beat(nats, cells, perCell), HEARTBEAT_MS)
  owned.defer(() => clearInterval(beating))
  beat(nats, cells, perCell)
  return { cells, servers, change: (count) => changeServers(db, servers, count) }
}

async function addCell(db: Database, nth: number): Promise<Cell> {
  const cell = { id: newId<CellId>(), name: `site-${nth}`, incarnation: newId<string>() }
  await registerCell(db, cell)
  // What its database holds is known: no gateway asks for a copy.
  await db.orm
    .update(cellMappings)
    .set({ incarnation: cell.incarnation, needsResync: false })
    .where(sql`${cellMappings.id} = ${cell.id}`)
  const inventory = { ...sampleHost('').inventory!, ...HOST }
  const hosts = Array.from({ length: HOSTS_PER_CELL }, (_, host) =>
    sampleHost(`${cell.name}-${host + 1}`, { inventory, lastSeenAt: Date.now(), zone: cell.name }),
  )
  await db.transaction((tx) => applyHostViews(tx, cell.id, hosts))
  return { ...cell, hosts }
}

/** Returns some of their ids. */
async function addServers(
  db: Database,
  projectId: string,
  cell: Cell,
  count: number,
): Promise<readonly string[]> {
  const owner = { projectId, userId: 'u'.repeat(32) }
  const ids: string[] = []
  for (let from = 0; from < count; from += BATCH) {
    const servers = Array.from({ length: Math.min(BATCH, count - from) }, (_, nth) =>
      sampleServer(owner, cell.id, {
        name: `${cell.name}-server-${from + nth + 1}`,
        vmState: 'active',
        taskState: null,
      }),
    )
    await db.transaction((tx) => {
      const charge = { projectId, cores: 1, ramMb: 128, cellId: cell.id, attempt: 1, sagaId: null }
      queueMappings(
        tx,
        servers.map(({ id }) => ({ serverId: id, ...charge })),
      )
      queueServers(tx, servers)
      return Promise.resolve()
    })
    ids.push(...servers.map(({ id }) => id))
  }
  const hosts = cell.hosts.map(({ hostId, name }) => ({ hostId, name }))
  await db.orm
    .update(serverIndex)
    .set({
      powerState: 1,
      host: sql`elt(1 + crc32(server_id) % ${hosts.length}, ${sql.join(
        hosts.map(({ name }) => sql`${name}`),
        sql`, `,
      )})`,
      zone: cell.name,
    })
    .where(sql`${serverIndex.cellId} = ${cell.id}`)
  return ids.filter((_, nth) => nth % SAMPLE_EVERY === 0)
}

function beat(nats: NatsConnection, cells: readonly Cell[], servers: number): void {
  const all = (of: keyof typeof HOST) => HOST[of] * HOSTS_PER_CELL
  const total = { vcpus: all('vcpus'), memoryMb: all('memoryMb'), diskGb: all('diskGb') }
  const used = { vcpus: servers, memoryMb: servers * 128, diskGb: servers }
  for (const [nth, { id, name, incarnation }] of cells.entries()) {
    // So that the tiles of the page differ in what fills them.
    const share = (nth % 10) / 10
    const summary: CellSummary = {
      hostsUp: HOSTS_PER_CELL,
      hosts: HOSTS_PER_CELL,
      zones: [name],
      simulated: true,
      hypervisorTypes: ['fake'],
      architectures: ['x86_64'],
      imageFormats: ['raw', 'qcow2'],
      traits: [],
      free: { ...total, memoryMb: Math.round(total.memoryMb * (1 - share)) },
      largest: HOST,
      instances: servers,
      total,
      limits: total,
      used: { ...used, memoryMb: Math.round(total.memoryMb * share) },
    }
    const said = { process: 'bench', at: Date.now(), summary, labels: {} }
    const heartbeat: CellHeartbeat = { incarnation, position: 0, ...said }
    nats.publish(eventSubject(id, 'heartbeat'), JSON.stringify(heartbeat))
  }
}

function changeServers(db: Database, servers: readonly string[], count: number): Promise<void> {
  return db.transaction((tx) => {
    queueEvents(
      tx,
      Array.from({ length: count }, () => ({
        type: 'server.state',
        serverId: servers[Math.floor(Math.random() * servers.length)]!,
        details: { state: 'active', taskState: null, powerState: 'running' },
      })),
    )
    return Promise.resolve()
  })
}
