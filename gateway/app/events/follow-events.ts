import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { type EventFilter, type KeptEvent, readEventState } from '../../db/events.ts'
import { eventPage } from './event-page.ts'
import type { Watcher } from './event-tail.ts'

/** More are not read at once, so that one who reads slowly costs no more memory than others. */
const PAGE = 100
const HEARTBEAT_MS = 10_000
/** How often it is looked whether the right to watch is still there, while nothing happens. */
const POLL_MS = 2_000
/** Then the token that was shown at the start is to be shown again. */
const LIFE_MS = 900_000

/** Events, oldest first, and the number that all events up to were looked at; without events: a sign of life. */
export interface FollowedEvents {
  readonly events: readonly KeptEvent[]
  readonly upTo: number
}

/**
 * Yields the events after a number (undefined: from now on), as they happen, until the watch ends, its time is up, or
 * `mayGoOn`, which is called before each, returns false.
 */
export async function* followEvents(
  { db, clock }: { readonly db: Executor; readonly clock: Clock },
  watcher: Watcher,
  filter: EventFilter,
  after: number | undefined,
  mayGoOn: () => Promise<boolean>,
): AsyncGenerator<FollowedEvents> {
  const endsAt = clock.elapsed() + LIFE_MS
  let upTo = after ?? (await readEventState(db)).last
  yield { events: [], upTo }
  let saidAt = clock.elapsed()
  while (!watcher.isEnded && clock.elapsed() < endsAt) {
    const { events, next, isGone } = await eventPage(db, filter, upTo, PAGE)
    // Purged while the reader was slow: the reader gets a gap when it comes back.
    if (isGone) return
    upTo = next
    if (!(await mayGoOn())) return
    if (events.length > 0 || clock.elapsed() - saidAt >= HEARTBEAT_MS) {
      yield { events, upTo }
      saidAt = clock.elapsed()
    }
    if (events.length < PAGE) await watcher.beyond(upTo, AbortSignal.timeout(POLL_MS))
  }
}
