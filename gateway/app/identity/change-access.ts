import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { hasAdministrator } from '../../db/identity/administrators.ts'
import { recordRevocation } from '../../db/identity/revocations.ts'
import type { Identity } from './identity.ts'

/**
 * Changes users' rights in one transaction: the change has effect here at once, at every other gateway within a
 * second. Such changes happen one after another, by the lock of the revocation's number. Throws `conflict`, and
 * changes nothing, where no user would be left who could administer the cloud.
 */
export async function changeAccess<T>(
  { db, cache }: Pick<Identity, 'db' | 'cache'>,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const result = await db.transaction(async (tx) => {
    await recordRevocation(tx, null)
    const done = await work(tx)
    if (!(await hasAdministrator(tx)))
      throw new Failure(
        'conflict',
        'This would leave the cloud without an enabled user who has the role admin in an enabled project or on the system. Give it to another one first.',
      )
    return done
  })
  cache.dropAll()
  return result
}
