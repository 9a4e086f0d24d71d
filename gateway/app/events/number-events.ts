import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { inBatches } from '#common/in-batches.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { beginEvents, numberEvents } from '../../db/events.ts'

/** The longest time between rounds; new events wake it earlier. */
const EVERY_MS = 10_000
const LEASE_NAME = 'events'
const LEASE_TTL_MS = 5_000
/** For a gateway without the lease, which is notified of events as often as the one with it. */
const ASK_AGAIN_MS = 1_500
const BATCH = { rows: 500, batchesMax: 20 } as const

/** Puts what has happened in order; one of the gateways does it at a time, and calls `onNumbered` when there was something. */
export function numberNewEvents(
  { db, clock }: { readonly db: Transactional; readonly clock: Clock },
  holder: string,
  onNumbered: () => void,
): Reconciler {
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  let isHolder = false
  let refusedAt = Number.NEGATIVE_INFINITY
  const holdsLease = async () => {
    if (clock.elapsed() - refusedAt < ASK_AGAIN_MS) return false
    const wasHolder = isHolder
    isHolder = (await lease.hold()) !== undefined
    if (isHolder && !wasHolder) await beginEvents(db)
    if (!isHolder) refusedAt = clock.elapsed()
    return isHolder
  }
  return {
    name: 'events',
    everyMs: EVERY_MS,
    round: async (signal) => {
      if (!(await holdsLease())) return { holder: 0 }
      const numbered = await inBatches({ ...BATCH, signal }, (rows) => numberEvents(db, rows))
      if (numbered > 0) onNumbered()
      return { holder: 1, numbered }
    },
  }
}
