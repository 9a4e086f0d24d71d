import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { findFirstResult, type IdempotencyKey, takeIdempotencyKey } from '../db/idempotency-keys.ts'
import { IdempotencyKeyReused } from './idempotency-key.ts'

/** The created object, and whether an earlier request with the same key created it. */
export type Once<Made> = Made & { readonly isRepeat: boolean }

/**
 * Afterwards `make` has been committed once for the key, and the ids that it returned are kept; a repeat returns
 * those and makes nothing. Without a key it is made in any case. Throws `IdempotencyKeyReused`.
 */
export async function oncePerKey<Made extends object>(
  db: Transactional,
  key: IdempotencyKey | null,
  make: (tx: Tx) => Promise<Made>,
): Promise<Once<Made>> {
  const first = await findEarlierResult<Made>(db, key)
  if (first !== undefined) return first
  try {
    const made = await db.transaction(async (tx) => {
      const fresh = await make(tx)
      if (key !== null) await takeIdempotencyKey(tx, key, fresh)
      return fresh
    })
    return { ...made, isRepeat: false }
  } catch (error) {
    // The same request may have come twice at once, and the other one won.
    const other = isFailure(error, 'conflict') ? await findEarlierResult<Made>(db, key) : undefined
    if (other === undefined) throw error
    return other
  }
}

/** The object that an earlier request with the key created; undefined if there was none. Throws `IdempotencyKeyReused`. */
export async function findEarlierResult<Made extends object>(
  db: Executor,
  key: IdempotencyKey | null,
): Promise<Once<Made> | undefined> {
  const first = key === null ? undefined : await findFirstResult<Made>(db, key)
  if (first === undefined) return undefined
  if (first.fingerprint !== key?.fingerprint) throw new IdempotencyKeyReused()
  return { ...first, isRepeat: true }
}
