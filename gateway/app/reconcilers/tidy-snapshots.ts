import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { ComputeDeps } from '../compute.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const LEASE = { name: 'snapshots', ttlMs: 10_000 } as const

/**
 * No image is kept that a server was to be saved in and was not, nor one that a server was shelved in and has left. One
 * gateway removes them: each other one would wait for the rows of all that it has just removed.
 */
export function tidySnapshots(
  { images, db, clock }: Pick<ComputeDeps, 'images' | 'db' | 'clock'>,
  processName: string,
): Reconciler {
  const lease = new HeldLease(db, clock, { ...LEASE, holder: processName })
  const mayRemove = async () => (await lease.hold()) !== undefined
  return {
    name: 'tidy snapshots',
    everyMs: EVERY_MS,
    round: async () => ({ removed: await images.tidy(mayRemove) }),
  }
}
