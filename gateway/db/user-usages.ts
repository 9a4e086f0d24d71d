import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { ProjectUser } from './user-quota-limits.ts'

const projectId = sql.placeholder('projectId')
const userId = sql.placeholder('userId')

const USED = sqlStatement(sql`
  select count(*) as instances, coalesce(sum(m.cores), 0) as cores,
    coalesce(sum(m.ram_mb), 0) as ram,
    (select count(*) from server_groups g
      where g.project_id = ${projectId} and g.user_id = ${userId}) as server_groups
  from instance_mappings m join server_index s on s.server_id = m.server_id
  where m.project_id = ${projectId} and s.user_id = ${userId} and m.is_charged`)

const OWNER = sqlStatement(
  sql`select user_id from server_index where server_id = ${sql.placeholder('serverId')}`,
)

/**
 * The usage of a user in a project, counted each time: no ledger is kept per user, as few users have limits of their
 * own. Exact within a transaction that has charged the project, because others wait for that.
 */
export async function usagesOfUser(
  db: Executor,
  user: ProjectUser,
): Promise<ReadonlyMap<string, number>> {
  const [row] = await db.rows<Readonly<Record<string, number | string>>>(USED, { ...user })
  return new Map(Object.entries(row ?? {}).map(([resource, used]) => [resource, Number(used)]))
}

/** Whose the server is; undefined when it is not known. */
export async function userOfServer(db: Executor, serverId: string): Promise<string | undefined> {
  const [row] = await db.rows<{ user_id: string }>(OWNER, { serverId })
  return row?.user_id
}
