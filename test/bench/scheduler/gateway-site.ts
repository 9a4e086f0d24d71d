import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { sql } from 'drizzle-orm'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { startMariadb, stopMariadb } from '#deploy/mariadb.ts'
import { findOperatedCell, updateCell } from '#gateway/app/cells/operated-cells.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { CellRegistry } from '#gateway/cell-client/registry.ts'
import { queueMappings } from '#gateway/db/instance-mappings.ts'
import { hostIndex } from '#gateway/db/schema/cells.ts'
import { instanceMappings } from '#gateway/db/schema/servers.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import { type SampleCell, sampleFederation } from './sample-federation.ts'

/** What a gateway chooses cells with: its database, and what it has heard of all cells. */
export interface GatewaySite {
  readonly db: Database
  readonly cells: CellRegistry
  /** It has servers in every cell. */
  readonly projectId: string
}

interface SiteCell extends SampleCell {
  readonly id: CellId
  readonly incarnation: string
}

const DATABASE = 'weir'
const HEARTBEAT_MS = 1_000
/** Of the project: a large one, with 2,000 servers. */
const SERVERS_PER_CELL = 10
const log = createLogger('bench', 'silent')

/** A gateway's view of so many cells, whose hosts are in its index and whose heartbeats come each second, until `owned` ends it. */
export async function openGatewaySite(
  owned: AsyncDisposableStack,
  size: { readonly cells: number; readonly hostsPerCell: number },
): Promise<GatewaySite> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  owned.defer(() => stopMariadb(directory))
  const url = (await startMariadb(directory, 'with-parent')).rootUrl(DATABASE)
  await migrateDatabase(url, 'gateway/db/migrations')
  const db = owned.use(new Database({ url, connectionsMax: 4 }))
  const projectId = 'a'.repeat(32)
  const sample = sampleFederation(size.cells, size.hostsPerCell)
  const all = sample.map((cell) => ({ ...cell, id: newId<CellId>(), incarnation: newId<string>() }))
  for (const cell of all) {
    await registerCell(db, cell)
    await addHosts(db, cell)
    await addServers(db, projectId, cell.id)
  }
  // MariaDB counts what an index holds while rows change, and not after a load of many at once.
  await db.orm.execute(sql`analyze table ${hostIndex}, ${instanceMappings}`)
  const bus = new Heartbeats()
  const options = { db, nats: bus as unknown as NatsConnection, clock: systemClock, log }
  const cells = owned.use(await CellRegistry.open(options))
  for (const { name, isEnabled, labels, taints } of all)
    await updateCell(db, await findOperatedCell(db, cells, name), { isEnabled, labels, taints })
  await cells.refresh()
  for (const cell of all) bus.deliver(cell)
  const began = performance.now()
  let said = 0
  const sayDue = () => {
    const due = ((performance.now() - began) / HEARTBEAT_MS) * all.length
    for (; said < due; said += 1) bus.deliver(all[said % all.length]!)
  }
  const timer = setInterval(sayDue, HEARTBEAT_MS / all.length)
  owned.defer(() => clearInterval(timer))
  return { db, cells, projectId }
}

/** As the cell's feed would, but in a fraction of the time. */
async function addHosts(db: Database, { id: cellId, hosts }: SiteCell): Promise<void> {
  const now = new Date()
  const rows = hosts.map((view) => {
    const { hostId, name, version } = view
    return { cellId, hostId, name, version, view, updatedAt: now, createdAt: now }
  })
  await db.orm.insert(hostIndex).values(rows)
}

function addServers(db: Database, projectId: string, cellId: CellId): Promise<void> {
  const charge = { projectId, cores: 1, ramMb: 512, cellId, attempt: 1, sagaId: null }
  return db.transaction((tx) => {
    queueMappings(
      tx,
      Array.from({ length: SERVERS_PER_CELL }, () => ({
        serverId: newId<InstanceId>(),
        ...charge,
      })),
    )
    return Promise.resolve()
  })
}

/** In the place of the bus, which has no part in a decision: hands over what cells would have sent. */
class Heartbeats {
  #callback: ((error: null, message: Msg) => void) | undefined

  subscribe(_: string, { callback }: { callback: (error: null, message: Msg) => void }) {
    this.#callback = callback
    return { unsubscribe: () => {} }
  }

  isClosed(): boolean {
    return false
  }

  deliver({ id, incarnation, summary }: SiteCell): void {
    const said = { process: 'bench', at: Date.now(), summary, labels: {} }
    const heartbeat: CellHeartbeat = { incarnation, position: 0, ...said }
    const data = Buffer.from(JSON.stringify(heartbeat))
    const message = {
      subject: eventSubject(id, 'heartbeat'),
      data,
      json: (): unknown => JSON.parse(data.toString()),
    }
    this.#callback?.(null, message as unknown as Msg)
  }
}
