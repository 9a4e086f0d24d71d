import { and, eq, sql } from 'drizzle-orm'
import { isInFuture } from '#common/db/columns.ts'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { InstanceId } from '#common/ids.ts'
import { instanceMappings } from './schema/servers.ts'

/** A server marked as soft-deleted that no saga holds, and whose mark has to be settled. */
export interface UnsettledServer {
  readonly serverId: InstanceId
  /** False once it is back, or where the delete came to nothing. */
  readonly isDeleted: boolean
  /** False for one that is deleted: its time is up. */
  readonly isCharged: boolean
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

/** Those that only wait for their time would fill every batch. */
const UNSETTLED = sqlStatement(sql`
  select m.server_id, s.vm_state = 'soft-delete' as is_deleted, m.is_charged
  from instance_mappings m join server_index s on s.server_id = m.server_id
  where m.is_kept = true and m.is_deleting = false and m.saga_id is null
    and s.deleted_at is null and s.task_state is null
    and (s.vm_state <> 'soft-delete' or m.is_charged
      or m.changed_at <= now(3) - interval ${sql.placeholder('ageS')} second)
  limit ${sql.placeholder('max')}`)

const BEGIN_ANEW = sqlStatement(sql`
  update instance_mappings set changed_at = now(3)
  where is_kept = true and ${isInFuture(sql`changed_at`)}`)

/** Notes whether the server is kept, and whether its project is charged for it; the ledger is changed beside it. */
export async function markSoftDeleted(
  tx: Tx,
  serverId: string,
  state: { readonly isKept: boolean; readonly isCharged: boolean },
): Promise<void> {
  await tx.run(MARK, { serverId, ...state })
}

/**
 * At most so many of them; `ageS`: seconds for which one is kept. One whose delete has a time to come is kept for so long
 * from now on: it must not go early, and not stay for as long as the clock had been ahead.
 */
export async function unsettledServers(
  db: Executor,
  ageS: number,
  limit: number,
): Promise<readonly UnsettledServer[]> {
  await db.run(BEGIN_ANEW, {})
  const rows = await db.rows<{
    server_id: InstanceId
    is_deleted: number
    is_charged: number
  }>(UNSETTLED, { ageS, max: BigInt(limit) })
  return rows.map((row) => ({
    serverId: row.server_id,
    isDeleted: Boolean(row.is_deleted),
    isCharged: Boolean(row.is_charged),
  }))
}
