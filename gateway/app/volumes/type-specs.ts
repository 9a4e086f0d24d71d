import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { mergeTypeSpecs, type VolumeType } from '../../db/volume-types.ts'
import { isAllowed } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { isTypeInUse, showType, typeNotFound } from './types.ts'

/** What users may know of a type; everything else is between the operator and the stores. */
const FOR_USERS: ReadonlySet<string> = new Set([
  'RESKEY:availability_zones',
  'multiattach',
  'replication_enabled',
])

type Specs = Readonly<Record<string, string>>

/** The extra specs of a type that the caller may see. */
export function visibleSpecs(
  caller: Caller,
  { extraSpecs }: Pick<VolumeType, 'extraSpecs'>,
): Specs {
  return maySeeAll(caller)
    ? extraSpecs
    : Object.fromEntries(Object.entries(extraSpecs).filter(([key]) => FOR_USERS.has(key)))
}

/** True if the caller may ask for types with these extra specs. */
export function mayFilterBy(caller: Caller, specs: Specs): boolean {
  return maySeeAll(caller) || Object.keys(specs).every((key) => FOR_USERS.has(key))
}

function maySeeAll(caller: Caller): boolean {
  return isAllowed(caller, 'volume_extension:types_extra_specs:read_sensitive')
}

/** One extra spec; throws `not-found` when there is no such type or key that the caller may see. */
export async function showTypeSpec(
  db: Executor,
  caller: Caller,
  id: string,
  key: string,
): Promise<string> {
  const specs = visibleSpecs(caller, await showType(db, caller, id))
  if (!Object.hasOwn(specs, key)) throw specNotFound(id, key)
  return specs[key]!
}

/** Afterwards the type has these extra specs besides its others. Throws `not-found`, and `invalid` while a volume has the type. */
export async function setTypeSpecs(
  db: Executor,
  caller: Caller,
  id: string,
  specs: Readonly<Record<string, string | null>>,
): Promise<void> {
  const type = await showType(db, caller, id)
  if (await isTypeInUse(db, type.id))
    throw new Failure('invalid', 'Volume Type is currently in use.')
  if (!(await mergeTypeSpecs(db, type.id, specs))) throw typeNotFound(id)
}

/** As `setTypeSpecs`, of the one key that a URL names. Throws `invalid` when the body names another. */
export async function setTypeSpec(
  db: Executor,
  caller: Caller,
  id: string,
  asked: { readonly key: string; readonly specs: Specs },
): Promise<void> {
  if (!Object.hasOwn(asked.specs, asked.key))
    throw new Failure('invalid', 'Request body and URI mismatch')
  await setTypeSpecs(db, caller, id, asked.specs)
}

/** Afterwards the type has no extra spec of this key. Throws `not-found` when it had none, and `invalid` as `setTypeSpecs`. */
export async function removeTypeSpec(
  db: Executor,
  caller: Caller,
  id: string,
  key: string,
): Promise<void> {
  await showTypeSpec(db, caller, id, key)
  await setTypeSpecs(db, caller, id, { [key]: null })
}

function specNotFound(id: string, key: string): Failure {
  return new Failure('not-found', `Volume Type ${id} has no extra specs with key ${key}.`)
}
