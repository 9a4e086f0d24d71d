import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { type WorkKind, waitingWork } from '../../db/waiting-work.ts'

const EVERY_MS = 200
/** How often each is looked for while there is some: most of it waits for its time, or for a cell. */
const LOOKED_FOR_MS: Readonly<Record<WorkKind, number>> = {
  events: EVERY_MS,
  intents: 500,
  resizes: 1_000,
  kept: 1_000,
  snapshots: 1_000,
  drains: 1_000,
}

/** Whoever sees to some kind of work is woken where there is any: asking for all with one question costs a fraction of each asking. */
export function watchWork(
  { db, clock }: { readonly db: Executor; readonly clock: Clock },
  wake: Readonly<Record<WorkKind, () => void>>,
): Reconciler {
  const wokenAt = new Map<WorkKind, number>()
  return {
    name: 'waiting work',
    everyMs: EVERY_MS,
    round: async () => {
      const now = clock.elapsed()
      const due = (await waitingWork(db)).filter((kind) => {
        return now - (wokenAt.get(kind) ?? Number.NEGATIVE_INFINITY) >= LOOKED_FOR_MS[kind]
      })
      for (const kind of due) {
        wokenAt.set(kind, now)
        wake[kind]()
      }
      return { woken: due.length }
    },
  }
}
