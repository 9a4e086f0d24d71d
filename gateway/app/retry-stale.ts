import type { Clock } from '#common/clock.ts'
import { StaleRevision } from '../db/stale-revision.ts'

/** Enough for all concurrent changes of one busy object; after that the request that has waited longest fails. */
const TRIES_MAX = 40
/** Longer each time, so that the changes spread where each takes long. */
const PAUSE_GROWTH_MS = 50
const PAUSE_MAX_MS = 500

/**
 * Runs a change that reads an object, decides, and writes it only if no other request wrote it meanwhile; otherwise
 * runs it again, on the object as it is then. Throws the last `StaleRevision` after a bounded number of times.
 */
export async function retryStale<T>(clock: Clock, change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof StaleRevision) || tries === TRIES_MAX) throw error
      await clock.sleep(Math.random() * Math.min(tries * PAUSE_GROWTH_MS, PAUSE_MAX_MS))
    }
}
