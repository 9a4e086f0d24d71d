import { and, asc, eq, isNull, notInArray, or, type SQLWrapper, sql } from 'drizzle-orm'
import { isInFuture } from '#common/db/columns.ts'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, sqlStatement, statement } from '#common/db/statement.ts'
import type { InstanceId } from '#common/ids.ts'
import { instanceMappings, serverActions } from './schema/servers.ts'

export interface PendingBuild {
  readonly serverId: InstanceId
  readonly attempt: number
  /** Of the request that asked for the server, so that its events stay together; null when that was purged. */
  readonly requestId: string | null
}

/** A saga that took a server and ended without letting it go is given this long, for its last commit may be young. */
const GRACE_S = 10
const isOld = (changedAt: SQLWrapper) =>
  sql`(${changedAt} < now(3) - interval ${sql.raw(String(GRACE_S))} second or ${isInFuture(changedAt)})`

const MARK_BUILD_PENDING = statement(
  builder
    .update(instanceMappings)
    .set({ isNotBuilt: true, changedAt: sql`now(3)` })
    .where(
      and(
        eq(instanceMappings.serverId, sql.placeholder('serverId')),
        eq(instanceMappings.attempt, sql.placeholder('attempt')),
        eq(instanceMappings.isDeleting, false),
        isNull(instanceMappings.cellId),
        isNull(instanceMappings.sagaId),
      ),
    ),
)

/** Afterwards a server that is in no cell is to be built in one; false where it is not so any more. */
export async function markBuildPending(
  tx: Tx,
  server: { readonly serverId: InstanceId; readonly attempt: number },
): Promise<boolean> {
  return (await tx.run(MARK_BUILD_PENDING, server)).affectedRows === 1
}

/** Servers given up by their cell that no saga has taken up yet, longest waiting first. */
export async function listNotBuilt(db: Executor, max: number): Promise<readonly PendingBuild[]> {
  const rows = await db.orm
    .select({
      serverId: instanceMappings.serverId,
      attempt: instanceMappings.attempt,
      requestId: serverActions.requestId,
    })
    .from(instanceMappings)
    .leftJoin(
      serverActions,
      and(
        eq(serverActions.serverId, instanceMappings.serverId),
        eq(serverActions.action, 'create'),
      ),
    )
    .where(
      and(
        eq(instanceMappings.isNotBuilt, true),
        eq(instanceMappings.isDeleting, false),
        isNull(instanceMappings.sagaId),
      ),
    )
    .orderBy(asc(instanceMappings.changedAt))
    .limit(max)
  return rows.map((row) => ({ ...row, serverId: row.serverId as InstanceId }))
}

/**
 * Servers being deleted without a saga, those waiting longest first. Servers of `darkCells` are left out, because they
 * would keep the others waiting.
 */
export async function listUnownedDeletes(
  db: Executor,
  darkCells: readonly string[],
  max: number,
): Promise<readonly InstanceId[]> {
  const { serverId, cellId } = instanceMappings
  const rows = await db.orm
    .select({ serverId })
    .from(instanceMappings)
    .where(
      and(
        eq(instanceMappings.isDeleting, true),
        isNull(instanceMappings.sagaId),
        darkCells.length === 0 ? undefined : or(isNull(cellId), notInArray(cellId, [...darkCells])),
        isOld(instanceMappings.changedAt),
      ),
    )
    .orderBy(asc(instanceMappings.changedAt))
    .limit(max)
  return rows.map((row) => row.serverId as InstanceId)
}

const ORPHANS = sql`instance_mappings m left join sagas s on s.id = m.saga_id`
const IS_ORPHAN = sql`m.saga_id is not null and (s.id is null or s.state in ('done', 'unwound'))
  and ${isOld(sql`m.changed_at`)}`
/** The others are freed the next time. */
const ORPHANS_MAX = 500

const FIND_ORPHANS = sqlStatement(
  sql`select m.server_id from ${ORPHANS} where ${IS_ORPHAN} limit ${sql.raw(String(ORPHANS_MAX))}`,
)

const RELEASE_ORPHAN = sqlStatement(
  sql`update ${ORPHANS} set m.saga_id = null where m.server_id = ${sql.placeholder('serverId')} and ${IS_ORPHAN}`,
)

/**
 * Frees servers whose saga has ended without doing so. Returns how many. Looked for first without locks: an update
 * that looked itself would wait for every saga at work, and every saga for it.
 */
export async function releaseOrphans(db: Executor): Promise<number> {
  const orphans = await db.rows<{ server_id: string }>(FIND_ORPHANS, {})
  let released = 0
  for (const { server_id: serverId } of orphans)
    released += (await db.run(RELEASE_ORPHAN, { serverId })).affectedRows
  return released
}
