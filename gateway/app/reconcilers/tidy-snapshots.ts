import type { Reconciler } from '#common/reconciler.ts'
import type { ComputeDeps } from '../compute.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000

/** No image is kept that a server was to be saved in and was not, nor one that a server was shelved in and has left. */
export function tidySnapshots({ images }: Pick<ComputeDeps, 'images'>): Reconciler {
  return {
    name: 'tidy snapshots',
    everyMs: EVERY_MS,
    round: async () => ({ removed: await images.tidy() }),
  }
}
