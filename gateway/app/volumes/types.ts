import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import { isProjectDefault } from '../../db/default-volume-types.ts'
import { forgetUnused, isAnyUsed } from '../../db/volume-quotas.ts'
import {
  deleteTypeRow,
  findType,
  findTypeNamed,
  insertType,
  type TypeChange,
  type TypeVisibility,
  updateTypeRow,
  type VolumeType,
} from '../../db/volume-types.ts'
import type { Requester } from '../requester.ts'
import { defaultType, isCloudDefault } from './default-types.ts'
import { resourcesOfType } from './quota-resources.ts'

/** The type; `default` is the caller's default. Throws `not-found` when there is none or the caller may not see it. */
export async function showType(db: Executor, caller: Requester, id: string): Promise<VolumeType> {
  if (id === 'default') return showDefault(db, caller)
  const type = isUuid(id) ? await findType(db, id, visibilityOf(caller)) : undefined
  if (type === undefined) throw typeNotFound(id)
  return type
}

async function showDefault(db: Executor, caller: Requester): Promise<VolumeType> {
  const type = await defaultType(db, caller)
  if (type === undefined) throw new Failure('not-found', 'Default volume type can not be found.')
  return type
}

/** The type of this id or else of this name. Throws `not-found` when the caller may see none. */
export async function typeNamed(
  db: Executor,
  caller: Requester,
  nameOrId: string,
): Promise<VolumeType> {
  const visibility = visibilityOf(caller)
  const byId = isUuid(nameOrId) ? await findType(db, nameOrId, visibility) : undefined
  const type = byId ?? (await findTypeNamed(db, nameOrId, visibility))
  if (type !== undefined) return type
  throw isUuid(nameOrId)
    ? typeNotFound(nameOrId)
    : new Failure('not-found', `Volume type with name ${nameOrId} could not be found.`)
}

/** The names of these types by their ids, also of types that the caller does not see. */
export async function typeNames(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(ids)]
  const types = await Promise.all(distinct.map((id) => findType(db, id, { all: true })))
  return new Map(types.flatMap((type) => (type === undefined ? [] : [[type.id, type.name]])))
}

/** Administrators see every type, others the public ones and those their project was given. */
export function visibilityOf({ isAdmin, projectId }: Requester): TypeVisibility {
  return isAdmin ? { all: true } : { projectId }
}

export function typeNotFound(id: string): Failure {
  return new Failure('not-found', `Volume type ${id} could not be found.`)
}

/** The properties that the creator of a type sets. */
export type NewType = Pick<VolumeType, 'name' | 'description' | 'isPublic' | 'extraSpecs'>

/** Afterwards the type exists; one that is not public is given to no project. Throws `conflict` for a taken name. */
export async function createType(db: Executor, given: NewType): Promise<VolumeType> {
  const made = { id: newId<string>(), encryption: null, createdAt: new Date(), updatedAt: null }
  const type: VolumeType = { ...given, ...made }
  await insertType(db, type)
  return type
}

/**
 * Afterwards the type is changed; what is undefined stays. Throws `invalid` for no change at all, `not-found`, and
 * `conflict` for a taken name.
 */
export async function updateType(
  db: Executor,
  caller: Requester,
  id: string,
  change: TypeChange,
): Promise<VolumeType> {
  if (Object.values(change).every((value) => value === undefined))
    throw new Failure(
      'invalid',
      'Specify volume type name, description, is_public or a combination thereof.',
    )
  if (!isUuid(id) || !(await updateTypeRow(db, id, change))) throw typeNotFound(id)
  return showType(db, caller, id)
}

/**
 * Afterwards there is neither the type nor a limit on its volumes. Throws `not-found`, and `invalid` while a volume has
 * it or while it is the default of the cloud or of a project.
 */
export async function deleteType(
  db: Executor & Transactional,
  caller: Requester,
  id: string,
): Promise<void> {
  const type = await showType(db, caller, id)
  await db.transaction(async (tx) => {
    if (isCloudDefault(type) || (await isProjectDefault(tx, type.id)))
      throw new Failure(
        'invalid',
        `The volume type ${type.id} is a default volume type and cannot be deleted.`,
      )
    if (!(await deleteTypeRow(tx, type.id))) throw typeNotFound(id)
    await forgetUnused(tx, resourcesOfType(type.id))
    if (await isTypeInUse(tx, type.id))
      throw new Failure('invalid', 'Target volume type is still in use.')
  })
}

/** True if a volume or snapshot has the type: the ledger counts each by its type. */
export function isTypeInUse(db: Executor, typeId: string): Promise<boolean> {
  return isAnyUsed(db, resourcesOfType(typeId))
}
