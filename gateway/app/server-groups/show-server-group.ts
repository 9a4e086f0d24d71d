import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findServerGroup, type ServerGroup } from '../../db/server-groups.ts'
import type { Caller } from '../request-context.ts'

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
