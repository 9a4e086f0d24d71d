import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { GroupPolicy } from '#openapi/wire/instance.ts'
import {
  findServerGroup,
  insertServerGroup,
  listServerGroups as list,
  deleteServerGroup as remove,
  type ServerGroup,
} from '../../db/server-groups.ts'
import { type ChangedBy, queueServerGroupEvent } from '../events/resource-events.ts'
import { isAllowed } from '../policy.ts'
import { chargeQuota } from '../quotas/charge-quota.ts'
import { refundQuota } from '../quotas/refund-quota.ts'
import type { Caller, RequestContext } from '../request-context.ts'

export interface ServerGroupQuery {
  /** Its mere presence asks for it. */
  readonly all_projects?: string
  readonly offset?: number
}

const ALL_PROJECTS = 'os_compute_api:os-server-groups:index:all_projects'

/** Those of the caller's project, in the order they were made; of all projects only for those the rule lets. */
export async function listServerGroups(
  db: Executor,
  context: RequestContext,
  { all_projects, offset = 0 }: ServerGroupQuery,
  limit: number,
): Promise<readonly ServerGroup[]> {
  const isWide = all_projects !== undefined && isAllowed(context, ALL_PROJECTS)
  if (!isWide && context.projectId === null) return []
  return list(db, { projectId: isWide ? null : context.projectId, offset, limit })
}

/** The group; throws `not-found` when there is none, or it is another project's. */
export async function showServerGroup(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  id: string,
): Promise<ServerGroup> {
  const group = isUuid(id) ? await findServerGroup(db, id) : undefined
  if (group === undefined || !(caller.isAdmin || group.projectId === caller.projectId))
    throw groupNotFound(id)
  return group
}

export function groupNotFound(id: string): Failure {
  return new Failure('not-found', `Instance group ${id} could not be found.`)
}

export interface NewServerGroup {
  readonly name: string
  readonly policy: GroupPolicy
  readonly maxPerHost: number | null
}

/** Throws `over-quota`, and `invalid` for a rule that the policy does not have. */
export async function createServerGroup(
  db: Transactional,
  { projectId, userId, requestId }: Pick<Caller, 'projectId' | 'userId'> & ChangedBy,
  asked: NewServerGroup,
): Promise<ServerGroup> {
  if (projectId === null)
    throw new Failure('forbidden', 'This request needs a token that is scoped to a project.')
  if (asked.maxPerHost !== null && asked.policy !== 'anti-affinity')
    throw new Failure('invalid', 'Only anti-affinity policy supports rules.')
  const group = { id: newId<string>(), projectId, userId, ...asked }
  await db.transaction(async (tx) => {
    await insertServerGroup(tx, group)
    try {
      await chargeQuota(tx, { projectId, userId }, { server_groups: 1 })
    } catch (error) {
      if (!isFailure(error, 'over-quota')) throw error
      throw new Failure('over-quota', 'Quota exceeded, too many server groups.')
    }
    queueServerGroupEvent(tx, { userId, requestId }, 'create', { ...group, members: [] })
  })
  return { ...group, cellId: null, members: [] }
}

/** Afterwards there is no such group; its servers stay on their hosts. Throws `not-found`. */
export async function deleteServerGroup(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'projectId'> & ChangedBy,
  id: string,
): Promise<void> {
  const group = await showServerGroup(db, caller, id)
  await db.transaction(async (tx) => {
    if (!(await remove(tx, group.id))) throw groupNotFound(id)
    refundQuota(tx, group.projectId, { server_groups: 1 })
    queueServerGroupEvent(tx, caller, 'delete', group)
  })
}
