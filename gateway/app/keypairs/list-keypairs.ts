import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findKeypair, listKeypairs as listRows, type StoredKeypair } from '../../db/keypairs.ts'
import type { Caller } from '../request-context.ts'
import { keypairOwner } from './keypair-owner.ts'

export interface KeypairListQuery {
  readonly user_id?: string
  /** The name of the keypair the page starts after. */
  readonly marker?: string
}

/** One page of a user's keypairs, by name. Throws `invalid` for a marker that is no keypair of the user. */
export async function listKeypairs(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'userId'>,
  query: KeypairListQuery,
  limit: number,
): Promise<readonly StoredKeypair[]> {
  const ownerId = keypairOwner(caller, query.user_id)
  const { marker } = query
  if (marker !== undefined && (await findKeypair(db, ownerId, marker)) === undefined)
    throw new Failure('invalid', `marker [${marker}] not found`)
  return listRows(db, ownerId, marker ?? '', limit)
}
