import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { idsNamed, type Named } from '../../db/named-resources.ts'

/**
 * The id of an object that an operator names by its id or name. Throws `invalid` for one that does not exist,
 * `conflict` for several.
 */
export async function idOf(db: Executor, what: Named, idOrName: string): Promise<string> {
  const ids = await idsNamed(db, what, idOrName, 2)
  const [id] = ids
  if (id === undefined)
    throw new Failure('invalid', `There is no ${what} with the id or name ${idOrName}.`)
  // An id takes precedence over a name that is the same text.
  if (ids.includes(idOrName)) return idOrName
  if (ids.length > 1)
    throw new Failure('conflict', `More than one ${what} is called ${idOrName}. Give its id.`)
  return id
}

/** The same for an id or name in a path: throws `not-found` if no object has it. */
export async function foundIdOf(db: Executor, what: Named, idOrName: string): Promise<string> {
  try {
    return await idOf(db, what, idOrName)
  } catch (error) {
    throw isFailure(error, 'invalid') ? new Failure('not-found', error.message) : error
  }
}
