import type { Transactional } from '#common/db/database.ts'
import { purgeSagas } from '#common/saga/purge.ts'
import { purgeActionEvents, purgeActions, purgeDeletedServers, purgeKeys } from '../db/purges.ts'

/** How long things are kept that no longer matter, in milliseconds. */
export interface Retention {
  readonly idempotencyKeysMs: number
  readonly actionsMs: number
  readonly sagasMs: number
  /** Of the rows of deleted servers, with all their history. */
  readonly deletedServersMs: number
}

/** Rows that went, by what they were. */
export type PurgeReport = Readonly<Record<string, number>>

const DAY_MS = 24 * 3_600_000

export const DEFAULT_RETENTION: Retention = {
  idempotencyKeysMs: DAY_MS,
  actionsMs: 90 * DAY_MS,
  sagasMs: 7 * DAY_MS,
  deletedServersMs: 30 * DAY_MS,
}

/** Small enough that nobody waits for the rows of one batch. */
const BATCH_MAX = 500

/**
 * Forgets what is older than its retention, in short transactions, at most `batchesMax` for each: what is left is for
 * the next call.
 */
export async function purge(
  db: Transactional,
  retention: Retention,
  batchesMax: number,
  signal: AbortSignal,
): Promise<PurgeReport> {
  const before = (ms: number) => new Date(Date.now() - ms)
  const batches: Readonly<Record<string, () => Promise<number>>> = {
    idempotencyKeys: () => purgeKeys(db, before(retention.idempotencyKeysMs), BATCH_MAX),
    actionEvents: () => purgeActionEvents(db, before(retention.actionsMs), BATCH_MAX),
    actions: () => purgeActions(db, before(retention.actionsMs), BATCH_MAX),
    sagas: () => purgeSagas(db, before(retention.sagasMs), BATCH_MAX),
    deletedServers: () => purgeDeletedServers(db, before(retention.deletedServersMs), BATCH_MAX),
  }
  const gone: Record<string, number> = {}
  for (const [name, batch] of Object.entries(batches))
    gone[name] = await inBatches(batch, batchesMax, signal)
  return gone
}

async function inBatches(
  batch: () => Promise<number>,
  batchesMax: number,
  signal: AbortSignal,
): Promise<number> {
  let gone = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    signal.throwIfAborted()
    const count = await batch()
    gone += count
    if (count < BATCH_MAX) break
  }
  return gone
}
