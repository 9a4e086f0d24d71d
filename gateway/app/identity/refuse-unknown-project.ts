import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findProject } from '../../db/identity/projects.ts'
import type { Caller } from '../request-context.ts'

/**
 * Throws `invalid` for a project that does not exist, with Nova's message. Only administrators get this failure,
 * because Nova asks Keystone with the caller's own token (nova/api/openstack/identity.py). With an external Keystone
 * every project is accepted, as by Nova when Keystone does not answer.
 */
export async function refuseUnknownProject(
  db: Executor,
  { isAdmin, isExternal }: Pick<Caller, 'isAdmin' | 'isExternal'>,
  projectId: string,
): Promise<void> {
  if (isAdmin && !isExternal && (await findProject(db, projectId)) === undefined)
    throw new Failure('invalid', `Project ID ${projectId} is not a valid project.`)
}
