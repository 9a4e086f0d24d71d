import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findProject } from '../../db/identity/projects.ts'
import type { Caller } from '../request-context.ts'

/**
 * Afterwards it is known that the project exists and that the caller may see its quota. Throws `forbidden` for
 * another project than the caller's, except to administrators, and `invalid` for no project at all, as Nova does.
 */
export async function checkQuotaProject(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  projectId: string,
): Promise<void> {
  if (projectId === caller.projectId) return
  if (!caller.isAdmin)
    throw new Failure('forbidden', 'Only administrators may see the quota of another project.')
  if ((await findProject(db, projectId)) === undefined)
    throw new Failure('invalid', `Project ID ${projectId} is not a valid project.`)
}

/** Throws `invalid` where a limit for one user of a project is asked for: limits here are a project's. */
export function refusePerUserQuota(userId: string | undefined): void {
  if (userId !== undefined)
    throw new Failure('invalid', 'Quotas are set per project, not per user: leave out user_id.')
}
