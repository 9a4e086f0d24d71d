import type { Executor } from '#common/db/database.ts'
import { listServerGroups as list, type ServerGroup } from '../../db/server-groups.ts'
import { isAllowed } from '../policy.ts'
import type { RequestContext } from '../request-context.ts'

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
