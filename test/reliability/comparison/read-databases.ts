import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { CellState, GatewayState, MappingRow, ProviderRow, QuotaRow } from './snapshot.ts'

export type Rows = <Row>(query: string) => Promise<readonly Row[]>

const OPEN_SAGAS = "SELECT name, state, subject FROM sagas WHERE state NOT IN ('done', 'unwound')"

/** What counts as used of each ledger, by its owner. */
const COUNTS: Readonly<Record<string, string>> = {
  instances:
    'SELECT project_id AS owner, COUNT(*) AS n FROM instance_mappings WHERE is_charged GROUP BY project_id',
  cores:
    'SELECT project_id AS owner, SUM(cores) AS n FROM instance_mappings WHERE is_charged GROUP BY project_id',
  ram: 'SELECT project_id AS owner, SUM(ram_mb) AS n FROM instance_mappings WHERE is_charged GROUP BY project_id',
  key_pairs: 'SELECT user_id AS owner, COUNT(*) AS n FROM keypairs GROUP BY user_id',
  server_groups: 'SELECT project_id AS owner, COUNT(*) AS n FROM server_groups GROUP BY project_id',
}
const NETWORK_TABLES: Readonly<Record<string, string>> = {
  network: 'networks',
  subnet: 'subnets',
  port: 'ports',
  security_group: 'security_groups',
  security_group_rule: 'security_group_rules',
}

/** Reads the global database. */
export function readGatewayDatabase(url: string): Promise<GatewayState> {
  return reading(url, async (rows) => ({
    mappings: await rows<MappingRow>(
      `SELECT server_id AS serverId, project_id AS projectId, cell_id AS cellId, attempt, cores, ram_mb AS ramMb,
         is_charged AS isCharged, is_resizing AS isResizing, is_deleting AS isDeleting, saga_id AS sagaId
       FROM instance_mappings`,
    ),
    index: await rows(
      `SELECT server_id AS serverId, cell_id AS cellId, attempt, vm_state AS vmState, task_state AS taskState,
         power_state AS powerState, host
       FROM server_index WHERE deleted_at IS NULL`,
    ),
    ports: await rows(
      `SELECT id, device_id AS deviceId, boot_made AS isBootMade, status, binding_host AS host FROM ports`,
    ),
    addresses: await rows('SELECT port_id AS portId, ip_address AS address FROM port_addresses'),
    quotas: await readQuotas(rows),
    audit: await rows('SELECT request_id AS requestId, status FROM audit_records'),
    actions: await rows(
      `SELECT a.server_id AS serverId, a.request_id AS requestId, a.action,
         (SELECT COUNT(*) FROM server_action_events e
          WHERE e.server_id = a.server_id AND e.request_id = a.request_id AND e.finished_at IS NULL) AS openEvents
       FROM server_actions a JOIN instance_mappings m ON m.server_id = a.server_id`,
    ),
    openSagas: await rows(OPEN_SAGAS),
    intents: await rows('SELECT server_id AS serverId, action FROM server_intents'),
  }))
}

/** Reads a cell's database; its guests are its hosts' to tell. */
export function readCellDatabase(url: string): Promise<Omit<CellState, 'id' | 'name' | 'guests'>> {
  return reading(url, async (rows) => ({
    instances: await rows(
      `SELECT server_id AS serverId, attempt, vm_state AS vmState, task_state AS taskState, host, saga_id AS sagaId
       FROM instances`,
    ),
    allocations: await rows(
      // What a migration holds is its server's.
      `SELECT COALESCE(m.server_id, a.consumer_id) AS consumerId, p.name AS provider, a.resource_class AS resourceClass,
         CAST(a.used AS DOUBLE) AS used
       FROM allocations a
         LEFT JOIN server_migrations m ON m.id = a.consumer_id
         LEFT JOIN resource_providers p ON p.id = a.provider_id`,
    ),
    providers: (
      await rows<ProviderRow['used'] & { readonly name: string }>(
        `SELECT name, vcpus_used AS VCPU, memory_mb_used AS MEMORY_MB, disk_gb_used AS DISK_GB FROM resource_providers`,
      )
    ).map(({ name, ...used }) => ({ name, used })),
    openSagas: await rows(OPEN_SAGAS),
    feedBehind: await feedBehind(rows),
  }))
}

async function feedBehind(rows: Rows): Promise<number> {
  const [row] = await rows<{ readonly n: number }>(
    `SELECT (SELECT COUNT(*) FROM feed WHERE n = 0) + (SELECT last - acknowledged FROM feed_state) AS n`,
  )
  return Number(row?.n ?? 0)
}

async function readQuotas(rows: Rows): Promise<readonly QuotaRow[]> {
  const quotas: QuotaRow[] = []
  for (const [resource, query] of Object.entries(COUNTS)) {
    const used = await rows<UsedRow>(
      `SELECT u.owner_id AS owner, u.used, l.hard_limit AS hardLimit FROM quota_usages u
         LEFT JOIN quota_limits l ON l.project_id = u.owner_id AND l.resource = u.resource
       WHERE u.resource = '${resource}'`,
    )
    quotas.push(...beside(resource, used, await rows(query)))
  }
  for (const [resource, table] of Object.entries(NETWORK_TABLES)) {
    const used = await rows<UsedRow>(
      `SELECT project_id AS owner, used, hard_limit AS hardLimit FROM network_quotas WHERE resource = '${resource}'`,
    )
    const count = `SELECT project_id AS owner, COUNT(*) AS n FROM ${table} GROUP BY project_id`
    quotas.push(...beside(resource, used, await rows(count)))
  }
  return quotas
}

interface UsedRow {
  readonly owner: string
  readonly used: number
  readonly hardLimit: number | null
}

interface CountRow {
  readonly owner: string
  readonly n: number | string
}

/** Of every owner that has a row in the ledger or anything to count. */
function beside(
  resource: string,
  used: readonly UsedRow[],
  counts: readonly CountRow[],
): QuotaRow[] {
  const ledger = new Map(used.map((row) => [row.owner, row]))
  const counted = new Map(counts.map(({ owner, n }) => [owner, Number(n)]))
  return [...new Set([...ledger.keys(), ...counted.keys()])].map((owner) => ({
    owner,
    resource,
    used: ledger.get(owner)?.used ?? 0,
    counted: counted.get(owner) ?? 0,
    limit: ledger.get(owner)?.hardLimit ?? undefined,
  }))
}

/** One reader of a database, closed afterwards. */
export async function reading<T>(url: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const connection = await createConnection({ uri: url })
  try {
    return await read(async <Row>(query: string) => {
      const [rows] = await connection.query<RowDataPacket[]>(query)
      return rows as unknown as readonly Row[]
    })
  } finally {
    await connection.end()
  }
}
