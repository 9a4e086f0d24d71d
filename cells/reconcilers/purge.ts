import { inBatches } from '#common/in-batches.ts'
import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { purgeSagas } from '#common/saga/purge.ts'
import type { Cell } from '../cell.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { purgeOperations } from '../db/operations.ts'
import { purgeMigrations } from '../db/server-migrations.ts'
import { purgeStores } from '../db/stores.ts'
import { purgeSnapshotAnswers } from '../db/volume-snapshots.ts'
import { purgeVolumeAttempts } from '../db/volumes.ts'
import { trimFeed } from '../feed/trim-feed.ts'
import type { Retention } from '../retention.ts'

const EVERY_MS = 10_000
const LEASE_NAME = 'purge'
const LEASE_TTL_MS = 60_000
const BATCH = 500
/** A round is bounded, so that it never delays other work for long; the next round continues. */
const BATCHES_MAX = 20

/** Removes what has outlived its retention from every table that grows. */
export function purge(cell: Cell, holder: string, retention: Retention): Reconciler {
  const { db, clock } = cell.conductor
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'purge',
    everyMs: EVERY_MS,
    round: async () => {
      if ((await lease.hold()) === undefined) return {}
      return purgeOnce(cell.conductor, retention)
    },
  }
}

/** One bounded purge of all that is past its retention. Returns how many rows went, by table. */
export async function purgeOnce(
  { db, clock }: Pick<Conductor, 'db' | 'clock'>,
  { operationsMs, sagasMs, ...feed }: Retention,
): Promise<ReconcilerReport> {
  const before = (ageMs: number) => new Date(clock.now() - ageMs)
  const limits = { rows: BATCH, batchesMax: BATCHES_MAX }
  return {
    operations: await inBatches(limits, (rows) => purgeOperations(db, before(operationsMs), rows)),
    server_migrations: await inBatches(limits, (rows) =>
      purgeMigrations(db, before(operationsMs), rows),
    ),
    volume_attempts: await inBatches(limits, (rows) =>
      purgeVolumeAttempts(db, before(operationsMs), rows),
    ),
    volume_snapshot_answers: await inBatches(limits, (rows) =>
      purgeSnapshotAnswers(db, before(operationsMs), rows),
    ),
    stores: await purgeStores(db),
    sagas: await inBatches(limits, (rows) => purgeSagas(db, before(sagasMs), rows)),
    feed: await trimFeed(db, clock, feed, BATCHES_MAX),
  }
}
