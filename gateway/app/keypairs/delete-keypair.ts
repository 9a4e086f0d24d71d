import type { Transactional } from '#common/db/database.ts'
import { deleteKeypair as deleteRow } from '../../db/keypairs.ts'
import { refundUsage } from '../../db/quota-usages.ts'
import type { Caller } from '../request-context.ts'
import { keypairOwner } from './keypair-owner.ts'
import { keypairNotFound } from './show-keypair.ts'

/** Afterwards the user has no keypair of this name; servers made with it keep their key. Throws `not-found`. */
export async function deleteKeypair(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  name: string,
  userId: string | undefined,
): Promise<void> {
  const ownerId = keypairOwner(caller, userId)
  await db.transaction(async (tx) => {
    if (!(await deleteRow(tx, ownerId, name))) throw keypairNotFound(name, ownerId)
    refundUsage(tx, { ownerId, resource: 'key_pairs' }, 1)
  })
}
