import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { InstanceId } from '#common/ids.ts'
import { instanceMappings, serverActions } from './schema/servers.ts'

export interface OwedBuild {
  readonly serverId: InstanceId
  readonly attempt: number
  /** Of the request that asked for the server, so that its events stay together; null when that was purged. */
  readonly requestId: string | null
}

/** A saga that took a server and ended without letting it go is given this long, for its last commit may be young. */
const GRACE_S = 10

/** Servers given up by their cell that no saga has taken up yet, longest waiting first. */
export async function listNotBuilt(db: Executor, max: number): Promise<readonly OwedBuild[]> {
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

export interface OwedDelete {
  readonly serverId: InstanceId
  /** Null: in no cell. */
  readonly cellId: string | null
}

/** Servers being deleted that no saga sees to any more, longest waiting first. */
export async function listUnownedDeletes(
  db: Executor,
  max: number,
): Promise<readonly OwedDelete[]> {
  const rows = await db.orm
    .select({ serverId: instanceMappings.serverId, cellId: instanceMappings.cellId })
    .from(instanceMappings)
    .where(
      and(
        eq(instanceMappings.isDeleting, true),
        isNull(instanceMappings.sagaId),
        sql`${instanceMappings.changedAt} < now(3) - interval ${sql.raw(String(GRACE_S))} second`,
      ),
    )
    .orderBy(asc(instanceMappings.changedAt))
    .limit(max)
  return rows.map((row) => ({ ...row, serverId: row.serverId as InstanceId }))
}

const RELEASE_ORPHANS = sqlStatement(sql`
  update instance_mappings m left join sagas s on s.id = m.saga_id
  set m.saga_id = null
  where m.saga_id is not null and (s.id is null or s.state in ('done', 'unwound'))
    and m.changed_at < now(3) - interval ${sql.raw(String(GRACE_S))} second`)

/** Frees servers whose saga has ended without doing so. Returns how many. */
export async function releaseOrphans(db: Executor): Promise<number> {
  return (await db.run(RELEASE_ORPHANS, {})).affectedRows
}
