import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  type DefaultType,
  findDefault,
  listDefaults,
  putDefault,
  removeDefault,
} from '../../db/default-volume-types.ts'
import { findType, findTypeNamed, type VolumeType } from '../../db/volume-types.ts'
import { refuseUnknownProject } from '../identity/refuse-unknown-project.ts'
import type { Caller } from '../request-context.ts'
import type { Requester } from '../requester.ts'

/** The type of this name is the default of the cloud, as in Cinder without a setting. */
const CLOUD_DEFAULT = '__DEFAULT__'

export function isCloudDefault({ name }: Pick<VolumeType, 'name'>): boolean {
  return name === CLOUD_DEFAULT
}

/** The type of a volume for which none is named: the project's default, else the cloud's, if there is one. */
export async function defaultType(
  db: Executor,
  { projectId }: Pick<Requester, 'projectId'>,
): Promise<VolumeType | undefined> {
  const own = projectId === null ? undefined : await findDefault(db, projectId)
  return own === undefined
    ? findTypeNamed(db, CLOUD_DEFAULT, { all: true })
    : findType(db, own.typeId, { all: true })
}

type Sight = Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>

/** The projects that have a default of their own. */
export function listDefaultTypes(db: Executor): Promise<readonly DefaultType[]> {
  return listDefaults(db)
}

/** The default of a project. Throws `invalid` for no project, and `not-found` where it has none of its own. */
export async function showDefaultType(
  db: Executor,
  caller: Sight,
  projectId: string,
): Promise<DefaultType> {
  await refuseUnknownProject(db, caller, projectId)
  const found = await findDefault(db, projectId)
  if (found === undefined)
    throw new Failure('not-found', `Default type for project ${projectId} not found.`)
  return found
}

/** Afterwards the project has this default. Throws `invalid` for no project, and for a type that there is not. */
export async function setDefaultType(
  db: Executor,
  caller: Sight,
  projectId: string,
  nameOrId: string,
): Promise<DefaultType> {
  await refuseUnknownProject(db, caller, projectId)
  const byId = await findType(db, nameOrId, { all: true })
  const type = byId ?? (await findTypeNamed(db, nameOrId, { all: true }))
  if (type === undefined)
    throw new Failure('invalid', `Volume type with name ${nameOrId} could not be found.`)
  const chosen = { projectId, typeId: type.id }
  await putDefault(db, chosen)
  return chosen
}

/** Afterwards the default of the cloud holds for the project, whether it exists or not. */
export function unsetDefaultType(db: Executor, projectId: string): Promise<void> {
  return removeDefault(db, projectId)
}
