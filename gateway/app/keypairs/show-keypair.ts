import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findKeypair, type StoredKeypair } from '../../db/keypairs.ts'
import type { Caller } from '../request-context.ts'
import { keypairOwner } from './keypair-owner.ts'

/** The keypair; throws `not-found`, and `forbidden` for another user's. */
export async function showKeypair(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  name: string,
  userId: string | undefined,
): Promise<StoredKeypair> {
  const ownerId = keypairOwner(caller, userId)
  const keypair = await findKeypair(db, ownerId, name)
  if (keypair === undefined) throw keypairNotFound(name, ownerId)
  return keypair
}

export function keypairNotFound(name: string, userId: string): Failure {
  return new Failure('not-found', `Keypair ${name} not found for user ${userId}`)
}
