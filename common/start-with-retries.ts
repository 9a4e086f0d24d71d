import { databaseFailure } from './db/failures.ts'
import { errorChain, isFailure } from './errors.ts'
import type { Logger } from './log.ts'

const PAUSE_MS = 1_000
const LOG_EVERY_MS = 30_000

/**
 * The result of `start`, which is tried again for as long as the database it needs is unreachable: the operator who
 * waits for the program decides how long. Logs that at once and every half minute. Throws every other failure of
 * `start`.
 */
export async function startWithRetries<T>(log: Logger, start: () => Promise<T>): Promise<T> {
  let loggedAt = -Infinity
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const failure = databaseFailure(error)
      if (!isFailure(failure, 'unavailable')) throw error
      const now = performance.now()
      if (now - loggedAt >= LOG_EVERY_MS) {
        loggedAt = now
        log.warn({ error: errorChain(failure) }, 'waits for the database')
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}
