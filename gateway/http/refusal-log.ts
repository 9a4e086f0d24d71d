import { LRUCache } from 'lru-cache'
import type { Logger } from '#common/log.ts'

const WINDOW_MS = 60_000
/** Kinds of refusals told apart. */
const KINDS_MAX = 200

interface Summed {
  more: number
  readonly endsAt: number
}

/**
 * Logs temporary refusals: the first of its kind at once, and with the next one after a minute how many there were in
 * between. A line for each would let a refused client fill the disk.
 */
export class RefusalLog {
  readonly #log: Logger
  readonly #now: () => number
  readonly #kinds = new LRUCache<string, Summed>({ max: KINDS_MAX })

  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  refused(kind: string, fields: object): void {
    const before = this.#kinds.get(kind)
    const now = this.#now()
    if (before !== undefined && now < before.endsAt) {
      before.more += 1
      this.#log.debug(fields, 'request refused for now')
      return
    }
    const more = before?.more ?? 0
    this.#kinds.set(kind, { more: 0, endsAt: now + WINDOW_MS })
    this.#log.warn(
      more === 0 ? fields : { ...fields, more_like_it: more },
      'request refused for now',
    )
  }
}
