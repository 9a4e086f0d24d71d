import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { findQuotaDrift, type QuotaDrift } from '#gateway/db/quota-drift.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import type { Cloud, CloudCell } from '../cloud.ts'
import { type CellVolumes, cellVolumes, type GatewayVolumes, gatewayVolumes } from './volumes.ts'

export interface MappingRow {
  readonly server_id: string
  readonly project_id: string
  readonly cell_id: string | null
  readonly attempt: number
  readonly cores: number
  readonly ram_mb: number
  readonly is_charged: number
  readonly is_deleting: number
  readonly saga_id: string | null
}

export interface IndexRow {
  readonly server_id: string
  readonly cell_id: string | null
  readonly attempt: number
  readonly version: number
  readonly vm_state: string
  readonly task_state: string | null
  readonly host: string | null
}

export interface InstanceRow {
  readonly server_id: string
  readonly attempt: number
  readonly version: number
  readonly vm_state: string
  readonly task_state: string | null
  readonly host_id: string
  readonly host: string
  readonly saga_id: string | null
  /** NumaAllocation, as JSON or read already. */
  readonly numa: string | NumaAllocation | null
}

/** What a provider has of a class that not every host has. */
export interface ClassRow {
  readonly provider_id: string
  readonly resource_class: string
  readonly limit: number
  readonly used: number
}

export interface ProviderRow {
  readonly id: string
  readonly name: string
  readonly VCPU: number
  readonly MEMORY_MB: number
  readonly DISK_GB: number
  readonly vcpus_limit: number
  readonly memory_mb_limit: number
  readonly disk_gb_limit: number
  readonly instances: number
}

export interface AllocationRow {
  readonly consumer_id: string
  readonly provider_id: string
  readonly resource_class: string
  readonly used: number
}

export interface SagaRow {
  readonly name: string
  readonly state: string
  readonly subject: string
}

export interface CellSnapshot {
  readonly id: string
  readonly name: string
  readonly instances: readonly InstanceRow[]
  readonly providers: readonly ProviderRow[]
  readonly allocations: readonly AllocationRow[]
  readonly classes: readonly ClassRow[]
  readonly sagas: readonly SagaRow[]
  readonly volumes: CellVolumes
  /** Ids of the guests of each host, by host id. */
  readonly guests: ReadonlyMap<string, readonly string[]>
}

/** The records of all owners of facts at about the same moment. */
export interface Snapshot {
  readonly mappings: readonly MappingRow[]
  /** Of servers that are not deleted. */
  readonly index: readonly IndexRow[]
  readonly usages: readonly {
    readonly owner_id: string
    readonly resource: string
    readonly used: number
  }[]
  /** Those that belong to a server, or to a router or floating IP that is gone. */
  readonly ports: readonly { readonly id: string; readonly device_id: string }[]
  readonly sagas: readonly SagaRow[]
  /** Of all ledgers of quotas, and of images of one content. */
  readonly drifts: readonly QuotaDrift[]
  /** What was recounted before, by an event's details. */
  readonly repaired: readonly { readonly details: string }[]
  readonly volumes: GatewayVolumes
  readonly cells: readonly CellSnapshot[]
}

const OPEN_SAGAS = "SELECT name, state, subject FROM sagas WHERE state NOT IN ('done', 'unwound')"

const REPAIRED = `SELECT details FROM events WHERE type = 'quota.repaired'
  UNION ALL SELECT details FROM event_inbox WHERE type = 'quota.repaired'`

export async function takeSnapshot(cloud: Cloud): Promise<Snapshot> {
  const cells = await Promise.all(cloud.cells.map(cellSnapshot))
  return reading(cloud.foundation.databaseUrl, async (rows) => ({
    mappings: await rows<MappingRow>('SELECT * FROM instance_mappings'),
    index: await rows<IndexRow>('SELECT * FROM server_index WHERE deleted_at IS NULL'),
    usages: await rows('SELECT owner_id, resource, used FROM quota_usages'),
    ports:
      await rows(`SELECT id, device_id FROM ports p WHERE device_id <> '' AND NOT (device_owner LIKE 'network:%'
      AND (EXISTS (SELECT 1 FROM routers WHERE id = p.device_id) OR EXISTS (SELECT 1 FROM floating_ips WHERE id = p.device_id)
      OR EXISTS (SELECT 1 FROM networks WHERE CONCAT('ovnmeta-', id) = p.device_id)))`),
    sagas: await rows<SagaRow>(OPEN_SAGAS),
    drifts: await findQuotaDrift({ rows: (statement) => rows(statement.text) }),
    repaired: await rows(REPAIRED),
    volumes: await gatewayVolumes(rows),
    cells,
  }))
}

async function cellSnapshot(cell: CloudCell): Promise<CellSnapshot> {
  const guests = new Map<string, readonly string[]>()
  for (const host of cell.computes) guests.set(host.id, await host.guests())
  return reading(cell.databaseUrl, async (rows) => ({
    id: cell.id,
    name: cell.name,
    instances: await rows<InstanceRow>('SELECT * FROM instances'),
    providers: await rows<ProviderRow>(
      `SELECT id, name, vcpus_used AS VCPU, memory_mb_used AS MEMORY_MB, disk_gb_used AS DISK_GB,
         vcpus_limit, memory_mb_limit, disk_gb_limit, instances FROM resource_providers`,
    ),
    allocations: await rows<AllocationRow>(
      // The allocations of a migration belong to its server.
      `SELECT coalesce(m.server_id, a.consumer_id) AS consumer_id, a.provider_id, a.resource_class, a.used
       FROM allocations a LEFT JOIN server_migrations m ON m.id = a.consumer_id`,
    ),
    classes: await rows<ClassRow>('SELECT * FROM custom_resources'),
    sagas: await rows<SagaRow>(OPEN_SAGAS),
    volumes: await cellVolumes(rows),
    guests,
  }))
}

const WRITER_LIMIT_MS = 10_000

/** The rows of a query. */
export type Rows = <Row>(query: string) => Promise<readonly Row[]>

async function reading<T>(url: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const connection: Connection = await createConnection({
    uri: await findWriter(databaseUrls(url), WRITER_LIMIT_MS),
  })
  try {
    return await read(async <Row>(query: string) => {
      const [rows] = await connection.query<RowDataPacket[]>(query)
      return rows as unknown as readonly Row[]
    })
  } finally {
    await connection.end()
  }
}
