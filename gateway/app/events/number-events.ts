import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { inBatches } from '#common/in-batches.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { acquireLease } from '#common/saga/lease.ts'
import { beginEvents, numberEvents } from '../../db/events.ts'

/** For what nobody tells this process of: what other gateways commit, and what it commits itself but by a feed. */
const EVERY_MS = 200
const LEASE_NAME = 'events'
const LEASE_TTL_MS = 5_000
const LEASE_RENEW_MS = 1_500
const BATCH = { rows: 500, batchesMax: 20 } as const

/** Puts what has happened in order; one of the gateways does it at a time, and calls `onNumbered` when there was something. */
export function numberNewEvents(
  { db, clock }: { readonly db: Transactional; readonly clock: Clock },
  holder: string,
  onNumbered: () => void,
): Reconciler {
  let isHolder = false
  let leaseCheckedAt = Number.NEGATIVE_INFINITY
  const holdsLease = async () => {
    if (clock.elapsed() - leaseCheckedAt < LEASE_RENEW_MS) return isHolder
    const lease = await acquireLease(db, LEASE_NAME, holder, LEASE_TTL_MS)
    if (lease !== undefined && !isHolder) await beginEvents(db)
    isHolder = lease !== undefined
    leaseCheckedAt = clock.elapsed()
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
