import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteTypeAccess, insertTypeAccess, listTypeAccess } from '../../db/volume-type-access.ts'
import type { VolumeType } from '../../db/volume-types.ts'
import { refuseUnknownProject } from '../identity/refuse-unknown-project.ts'
import type { Caller } from '../request-context.ts'
import { showType } from './types.ts'

type Sight = Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>

/** The projects that may use the type. Throws `not-found`, also for a public type: everyone may use that. */
export async function projectsOfType(
  db: Executor,
  caller: Sight,
  id: string,
): Promise<readonly string[]> {
  const type = await showType(db, caller, id)
  if (type.isPublic)
    throw new Failure('not-found', 'Access list not available for public volume types.')
  return listTypeAccess(db, type.id)
}

/**
 * Afterwards the project may use the type. Throws `not-found`, `invalid` for no project and for a public type, and
 * `conflict` where it could already.
 */
export async function grantTypeAccess(
  db: Executor,
  caller: Sight,
  id: string,
  projectId: string,
): Promise<void> {
  const type = await privateType(db, caller, id)
  await refuseUnknownProject(db, caller, projectId)
  if (!(await insertTypeAccess(db, type.id, projectId)))
    throw new Failure(
      'conflict',
      `Volume type access for ${type.id} / ${projectId} combination already exists.`,
    )
}

/** Afterwards the project may not use the type. Throws `not-found`, also where it could not anyway, and `invalid` for a public type. */
export async function revokeTypeAccess(
  db: Executor,
  caller: Sight,
  id: string,
  projectId: string,
): Promise<void> {
  const type = await privateType(db, caller, id)
  if (!(await deleteTypeAccess(db, type.id, projectId)))
    throw new Failure(
      'not-found',
      `Volume type access not found for ${type.id} / ${projectId} combination.`,
    )
}

async function privateType(db: Executor, caller: Sight, id: string): Promise<VolumeType> {
  const type = await showType(db, caller, id)
  if (type.isPublic)
    throw new Failure(
      'invalid',
      'Invalid volume type: Type access modification is not applicable to public volume type.',
    )
  return type
}
