import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'

/** Runs a write; the unique key `key` being taken becomes `conflict`, in Keystone's words. */
export async function orNameTaken<T>(
  key: string,
  what: string,
  name: string,
  write: PromiseLike<T>,
): Promise<T> {
  try {
    return await write
  } catch (error) {
    if (!isDuplicate(error, key)) throw error
    throw new Failure(
      'conflict',
      `Conflict occurred attempting to store ${what} - Duplicate entry found with name ${name}.`,
      { cause: error },
    )
  }
}
