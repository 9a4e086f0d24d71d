import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteAccess, insertAccess, listAccess } from '../../db/flavor-access.ts'
import { type ChangedBy, queueFlavorEvent } from '../events/resource-events.ts'
import { refuseUnknownProject } from '../identity/refuse-unknown-project.ts'
import type { Caller } from '../request-context.ts'
import { showFlavor } from './flavors.ts'

type Sight = Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>

/** The projects that may use the flavor. Throws `not-found`, also for a public flavor: everyone may use that. */
export async function projectsOfFlavor(
  db: Executor,
  caller: Sight,
  id: string,
): Promise<readonly string[]> {
  const flavor = await showFlavor(db, caller, id)
  if (flavor.isPublic)
    throw new Failure('not-found', 'Access list not available for public flavors.')
  return listAccess(db, id)
}

/**
 * Afterwards the project may use the flavor. Throws `invalid` for no project, `not-found`, and `conflict` where it
 * could already. `refusesPublic`: also for a flavor that everyone may use (since microversion 2.7).
 */
export async function grantAccess(
  db: Executor & Transactional,
  caller: Sight & ChangedBy,
  id: string,
  { projectId, refusesPublic }: { readonly projectId: string; readonly refusesPublic: boolean },
): Promise<readonly string[]> {
  await refuseUnknownProject(db, caller, projectId)
  const flavor = await showFlavor(db, caller, id)
  if (refusesPublic && flavor.isPublic)
    throw new Failure('conflict', 'Can not add access to a public flavor.')
  await db.transaction(async (tx) => {
    if (!(await insertAccess(tx, id, projectId)))
      throw new Failure(
        'conflict',
        `Flavor access already exists for flavor ${id} and project ${projectId} combination.`,
      )
    await queueFlavorEvent(tx, caller, 'update', id)
  })
  return listAccess(db, id)
}

/** Afterwards the project may not use the flavor. Throws `not-found` where it could not anyway. */
export async function revokeAccess(
  db: Executor & Transactional,
  caller: Sight & ChangedBy,
  id: string,
  projectId: string,
): Promise<readonly string[]> {
  await showFlavor(db, caller, id)
  await db.transaction(async (tx) => {
    if (!(await deleteAccess(tx, id, projectId)))
      throw new Failure(
        'not-found',
        `Flavor access not found for ${id} / ${projectId} combination.`,
      )
    await queueFlavorEvent(tx, caller, 'update', id)
  })
  return listAccess(db, id)
}
