import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { mergeExtraSpecs } from '../../db/flavors.ts'
import { type ChangedBy, queueFlavorEvent } from '../events/resource-events.ts'
import type { Caller } from '../request-context.ts'
import { checkExtraSpecs } from './extra-spec-rules.ts'
import { flavorNotFound, showFlavor } from './flavors.ts'

type Sight = Pick<Caller, 'isAdmin' | 'projectId'>

/** One extra spec; throws `not-found` when the flavor or the key is not there. */
export async function showExtraSpec(
  db: Executor,
  caller: Sight,
  id: string,
  key: string,
): Promise<string> {
  const { extraSpecs } = await showFlavor(db, caller, id)
  if (!Object.hasOwn(extraSpecs, key)) throw specNotFound(id, key)
  return extraSpecs[key]!
}

/**
 * Afterwards the flavor has these extra specs besides its others. Throws `not-found`, and `invalid` for values without
 * meaning, which are checked since microversion 2.86.
 */
export async function setExtraSpecs(
  db: Transactional,
  by: ChangedBy,
  id: string,
  specs: Readonly<Record<string, string>>,
  isChecked: boolean,
): Promise<void> {
  if (isChecked) checkExtraSpecs(specs)
  await changeSpecs(db, by, id, specs)
}

/** As `setExtraSpecs`, of the one key a URL names. Throws `invalid` when the body names another. */
export async function setExtraSpec(
  db: Transactional,
  by: ChangedBy,
  id: string,
  asked: {
    readonly key: string
    readonly specs: Readonly<Record<string, string>>
    readonly isChecked: boolean
  },
): Promise<void> {
  if (!Object.hasOwn(asked.specs, asked.key))
    throw new Failure('invalid', 'Request body and URI mismatch')
  await setExtraSpecs(db, by, id, asked.specs, asked.isChecked)
}

/** Afterwards the flavor has no extra spec of this key. Throws `not-found` when it had none. */
export async function removeExtraSpec(
  db: Executor & Transactional,
  caller: Sight & ChangedBy,
  id: string,
  key: string,
): Promise<void> {
  await showExtraSpec(db, caller, id, key)
  await changeSpecs(db, caller, id, { [key]: null })
}

async function changeSpecs(
  db: Transactional,
  by: ChangedBy,
  id: string,
  specs: Readonly<Record<string, string | null>>,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await mergeExtraSpecs(tx, id, specs))) throw flavorNotFound(id)
    await queueFlavorEvent(tx, by, 'update', id)
  })
}

function specNotFound(id: string, key: string): Failure {
  return new Failure('not-found', `Flavor ${id} has no extra specs with key ${key}.`)
}
