import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { refuseUnknownProject } from '../identity/refuse-unknown-project.ts'
import type { Caller } from '../request-context.ts'

/**
 * Afterwards it is known that the project exists and that the caller may see its quota. Throws `forbidden` for
 * another project than the caller's, except to administrators, and `invalid` for no project at all, as Nova does.
 */
export async function checkQuotaProject(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>,
  projectId: string,
): Promise<void> {
  if (projectId === caller.projectId) return
  if (!caller.isAdmin)
    throw new Failure('forbidden', 'Only administrators may see the quota of another project.')
  await refuseUnknownProject(db, caller, projectId)
}
