import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { CellId } from '#common/ids.ts'
import { type InstanceMapping, type MappingRow, mappingOf } from './instance-mappings.ts'
import {
  ascii,
  BY_KEY,
  boundAttempts,
  SERVER_ATTEMPTS,
  type ServerAttempt,
} from './server-attempts.ts'

const cellId = sql.placeholder('cellId')

const LOCK_DELETING = sqlStatement(sql`
  select m.*, (select g.group_id from server_group_members g where g.server_id = m.server_id) as group_id,
    exists (select 1 from volume_attachments a where a.server_id = m.server_id) as has_volumes
  from ${SERVER_ATTEMPTS}
  straight_join instance_mappings m${BY_KEY} on m.server_id = v.server_id
  where m.is_deleting and m.attempt = v.attempt and m.cell_id <=> ${cellId} for update`)

const REMOVE = sqlStatement(sql`
  delete m from ${SERVER_ATTEMPTS}
  straight_join instance_mappings m${BY_KEY} on m.server_id = v.server_id`)

const REMOVE_SPECS = sqlStatement(sql`
  delete r from ${SERVER_ATTEMPTS}
  straight_join request_specs r${BY_KEY} on r.server_id = v.server_id`)

const MARK_NOT_BUILT = sqlStatement(sql`
  update json_table(${sql.placeholder('servers')}, '$[*]' columns (
    server_id ${ascii(36)} path '$.serverId', attempt int path '$.attempt',
    reason text path '$.reason')) v
  straight_join instance_mappings m${BY_KEY} on m.server_id = v.server_id
  set m.is_not_built = true, m.not_built_reason = v.reason, m.changed_at = now(3)
  where m.cell_id = ${cellId} and m.attempt = v.attempt and not m.is_deleting`)

type LockedRow = MappingRow & {
  readonly group_id: string | null
  readonly has_volumes: number
}

/** A server whose mapping is locked. */
export interface LockedServer extends InstanceMapping {
  /** The group it is in; null: none. */
  readonly groupId: string | null
  /** True where it has volumes: it gets no more once it is being deleted. */
  readonly hasVolumes: boolean
}

/**
 * The servers among these that are being deleted and were last given to this cell, at this attempt; their mappings
 * stay locked until the transaction ends.
 */
export async function lockDeleting(
  tx: Tx,
  cell: CellId | null,
  servers: readonly ServerAttempt[],
): Promise<readonly LockedServer[]> {
  const values = { cellId: cell, servers: boundAttempts(servers) }
  const rows = await tx.rows<LockedRow>(LOCK_DELETING, values)
  return rows.map((row) => {
    return { ...mappingOf(row), groupId: row.group_id, hasVolumes: row.has_volumes === 1 }
  })
}

/** Afterwards the servers are in no cell and nothing can build them: their mappings and specs are gone. */
export function queueMappingRemoval(tx: Tx, servers: readonly ServerAttempt[]): void {
  const values = { servers: boundAttempts(servers) }
  tx.queue(REMOVE, values)
  tx.queue(REMOVE_SPECS, values)
}

/** Notes that the cell gave servers up before they ran; ignored for those it was not given, or not at this attempt. */
export function queueNotBuilt(
  tx: Tx,
  cell: CellId,
  servers: readonly (ServerAttempt & { readonly reason: string })[],
): void {
  if (servers.length > 0)
    tx.queue(MARK_NOT_BUILT, { cellId: cell, servers: JSON.stringify(servers) })
}
