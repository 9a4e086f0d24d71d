import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type DescribedCollection, lockRevision } from '../../db/described-rows.ts'

/** A request named another revision of the object than the present one. */
export class RevisionMismatch extends Failure {
  constructor(wanted: number, found: number) {
    super('conflict', `Constrained to ${wanted}, but current revision is ${found}`)
  }
}

/**
 * Afterwards the object, if it exists, cannot change until the transaction ends. Throws `RevisionMismatch` unless it
 * has the wanted revision, if the request names one.
 */
export async function holdRevision(
  tx: Tx,
  collection: DescribedCollection,
  id: string,
  wanted: number | undefined,
): Promise<void> {
  if (wanted === undefined) return
  const found = await lockRevision(tx, collection, id)
  if (found !== undefined && found !== wanted) throw new RevisionMismatch(wanted, found)
}
