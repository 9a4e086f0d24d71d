import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { withDeadline } from '#common/with-deadline.ts'
import { revocationsAfter } from '../../db/identity/revocations.ts'
import type { TokenCache } from './token-cache.ts'

const POLL_MS = 200
const POLL_TIMEOUT_MS = 2_000
/** No list is complete after this number. */
const NOTHING_SEEN = -1

export interface WatchDeps {
  readonly db: Database
  readonly cache: TokenCache
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Afterwards revocations by any gateway reach the cache within POLL_MS and one query, until disposed. While no
 * request carries a token nothing is read; the first one then finds a cache that may be out of date, and is answered
 * from the database.
 */
export function watchRevocations(deps: WatchDeps): AsyncDisposable {
  const stop = new AbortController()
  const ended = run(deps, stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

async function run({ db, cache, clock, log }: WatchDeps, signal: AbortSignal): Promise<void> {
  let seen: number | undefined
  let areRevocationsStale = false
  while (!signal.aborted) {
    const asOf = clock.elapsed()
    const asked = cache.nextRequest(signal)
    try {
      seen = await withDeadline(POLL_TIMEOUT_MS, catchUp(db, cache, seen))
      cache.recordRead(asOf)
      if (areRevocationsStale) log.info('revocations arrive again')
      areRevocationsStale = false
    } catch (error) {
      if (!areRevocationsStale)
        log.warn(
          errorFields(error),
          'revocations cannot be read: tokens are checked in the database',
        )
      areRevocationsStale = true
    }
    await clock.sleep(POLL_MS, signal).catch(() => undefined)
    await asked
  }
}

/** Drops what was revoked after number `seen`, everything at first or if the list has a hole; gives the newest number. */
async function catchUp(db: Database, cache: TokenCache, seen = NOTHING_SEEN): Promise<number> {
  const { last, tokenIds } = await revocationsAfter(db, seen)
  const isComplete = last - seen === tokenIds.length && !tokenIds.includes(null)
  if (!isComplete) cache.dropAll()
  else for (const id of tokenIds) if (id !== null) cache.drop(id)
  return last
}
