import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { limit, UNLIMITED_AS_NUMBER } from './quota-usages.ts'
import type { ProjectUser } from './user-quota-limits.ts'

const p = sql.placeholder

const WITHIN = sqlStatement(
  sql`update server_groups set lock_version = lock_version + 1
    where id = ${p('groupId')}
    and (select count(*) from server_group_members
      where group_id = ${p('groupId')} and user_id = ${p('userId')})
      <= coalesce(nullif(${limit}, -1), ${UNLIMITED_AS_NUMBER})
    and not exists (select 1 from user_quota_limits
      where project_id = ${p('projectId')} and user_id = ${p('userId')})`,
  { sums: [] },
)

/** A user's servers in a group, and the limit where neither the project nor the default class sets one. */
export interface GroupMembersQuota extends ProjectUser {
  readonly groupId: string
  readonly resource: string
  readonly fallbackLimit: number
}

/**
 * The transaction, which has locked the group and added members, fails with `otherwise` where the user has more servers
 * in the group than the project may have, also where the user has limits of their own.
 */
export function queueGroupMembersCheck(
  tx: Tx,
  quota: GroupMembersQuota,
  otherwise: () => Error,
): void {
  tx.queue(WITHIN, { ...quota }, { rows: 1, otherwise })
}
