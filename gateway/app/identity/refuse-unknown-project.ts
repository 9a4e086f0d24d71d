import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findProject } from '../../db/identity/projects.ts'
import type { Caller } from '../request-context.ts'

/**
 * Throws `invalid` for no project at all, in Nova's words. Only administrators are told, because Nova asks Keystone
 * with the caller's own token (nova/api/openstack/identity.py). Where projects are known elsewhere every one counts as
 * one, as for Nova when Keystone does not tell it.
 */
export async function refuseUnknownProject(
  db: Executor,
  { isAdmin, isExternal }: Pick<Caller, 'isAdmin' | 'isExternal'>,
  projectId: string,
): Promise<void> {
  if (isAdmin && !isExternal && (await findProject(db, projectId)) === undefined)
    throw new Failure('invalid', `Project ID ${projectId} is not a valid project.`)
}
