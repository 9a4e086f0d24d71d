import { and, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { InstanceId } from '#common/ids.ts'
import { instanceMappings } from './schema/servers.ts'

/** A server that was deleted softly and that nobody does anything with now. */
export interface KeptServer {
  readonly serverId: InstanceId
  /** False once it is back, or where the delete came to nothing. */
  readonly isDeleted: boolean
  readonly isCharged: boolean
  /** True when it has been kept for the time that was asked about. */
  readonly isDue: boolean
}

const MARK = statement(
  builder
    .update(instanceMappings)
    .set({
      isKept: sql`${sql.placeholder('isKept')}`,
      isCharged: sql`${sql.placeholder('isCharged')}`,
    })
    .where(and(eq(instanceMappings.serverId, sql.placeholder('serverId')))),
)

const IDLE = sqlStatement(sql`
  select m.server_id, s.vm_state = 'soft-delete' as is_deleted, m.is_charged,
    m.changed_at <= now(3) - interval ${sql.placeholder('ageS')} second as is_due
  from instance_mappings m join server_index s on s.server_id = m.server_id
  where m.is_kept = true and m.is_deleting = false and m.saga_id is null
    and s.deleted_at is null and s.task_state is null
  limit ${sql.placeholder('max')}`)

/** Notes whether the server is kept, and whether its project is charged for it; the ledger is changed beside it. */
export async function markKept(
  tx: Tx,
  serverId: string,
  state: { readonly isKept: boolean; readonly isCharged: boolean },
): Promise<void> {
  await tx.run(MARK, { serverId, ...state })
}

/** At most so many of them; `ageS`: seconds after which one is due. */
export async function idleKeptServers(
  db: Executor,
  ageS: number,
  limit: number,
): Promise<readonly KeptServer[]> {
  const rows = await db.rows<{
    server_id: InstanceId
    is_deleted: number
    is_charged: number
    is_due: number
  }>(IDLE, { ageS, max: String(limit) })
  return rows.map((row) => ({
    serverId: row.server_id,
    isDeleted: Boolean(row.is_deleted),
    isCharged: Boolean(row.is_charged),
    isDue: Boolean(row.is_due),
  }))
}
