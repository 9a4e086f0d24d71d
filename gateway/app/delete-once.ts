import { AsyncLocalStorage } from 'node:async_hooks'
import type { Executor, Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { findFirstResult, type IdempotencyKey, queueDeleteKey } from '../db/idempotency-keys.ts'

/** A request that deletes, under a key. */
interface OpenDelete {
  readonly key: IdempotencyKey
  /** A transaction of this request has committed with the key. */
  isTaken: boolean
}

const current = new AsyncLocalStorage<OpenDelete>()

/**
 * The result of `remove`; undefined if it found no object, because an earlier request with the same key deleted the
 * object: a proxy sends a request again whose answer was lost with a gateway.
 */
export async function deleteOnce<T>(
  db: Executor,
  key: IdempotencyKey | null,
  remove: () => Promise<T>,
): Promise<T | undefined> {
  if (key === null) return remove()
  try {
    return await current.run({ key, isTaken: false }, remove)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    const first = await findFirstResult(db, key)
    if (first?.fingerprint !== key.fingerprint) throw error
    return undefined
  }
}

/** The first transaction of a delete that commits takes its key. For `beforeCommit` of the database. */
export function takeDeleteKey(tx: Tx): void {
  const open = current.getStore()
  if (open === undefined || open.isTaken) return
  queueDeleteKey(tx, open.key)
  tx.afterCommit(() => {
    open.isTaken = true
  })
}
