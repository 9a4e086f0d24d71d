import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { acquireLease } from '#common/saga/lease.ts'
import { purgeSagas } from '#common/saga/purge.ts'
import type { Cell } from '../cell.ts'
import type { Retention } from '../config.ts'
import { purgeOperations } from '../db/operations.ts'
import { trimFeed } from '../feed/trim-feed.ts'

const EVERY_MS = 10_000
const LEASE_NAME = 'purge'
const LEASE_TTL_MS = 60_000
const BATCH = 500
/** A round is bounded, so that it never holds up anything else for long; the next goes on. */
const BATCHES_MAX = 20

/** Removes what has outlived its retention from every table that grows. */
export function purge(cell: Cell, holder: string, retention: Retention): Reconciler {
  const { db } = cell.conductor
  return {
    name: 'purge',
    everyMs: EVERY_MS,
    round: async () => {
      if ((await acquireLease(db, LEASE_NAME, holder, LEASE_TTL_MS)) === undefined) return {}
      return purgeOnce(cell, retention)
    },
  }
}

/** One bounded purge of all that is past its retention. */
export async function purgeOnce(
  { conductor }: Cell,
  { operationsMs, sagasMs, ...feed }: Retention,
): Promise<ReconcilerReport> {
  const { db, clock } = conductor
  const before = (ageMs: number) => new Date(clock.now() - ageMs)
  return {
    operations: await inBatches(() => purgeOperations(db, before(operationsMs), BATCH)),
    sagas: await inBatches(() => purgeSagas(db, before(sagasMs), BATCH)),
    feed: await trimFeed(db, clock, feed, BATCHES_MAX),
  }
}

async function inBatches(removeSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const removed = await removeSome()
    total += removed
    if (removed < BATCH) break
  }
  return total
}
