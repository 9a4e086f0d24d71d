import type { Reconciler } from '#common/reconciler.ts'
import type { ComputeDeps } from '../compute.ts'
import { purge, type Retention } from '../purge.ts'

const EVERY_MS = 600_000
const BATCHES_MAX = 20

/** Deletes rows past their retention, some at a time. */
export function purgeOld(
  deps: Pick<ComputeDeps, 'db' | 'clock'>,
  retention: Retention,
): Reconciler {
  return {
    name: 'purge',
    everyMs: EVERY_MS,
    round: (signal) => purge(deps, retention, BATCHES_MAX, signal),
  }
}
