import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'

/** The caller whose last request is the oldest is forgotten first, and begins again with its full allowance. */
const ASKERS_MAX = 10_000
const MINUTE_MS = 60_000

/** A request beyond the limit; it was not carried out, and would be after `retryAfterS` seconds. */
export class TooManyRequests extends Failure {
  readonly retryAfterS: number

  constructor(message: string, waitMs: number) {
    super('unavailable', message)
    this.retryAfterS = Math.ceil(waitMs / 1_000)
  }
}

interface Allowance {
  readonly left: number
  readonly at: number
}

/**
 * Lets each asker make so many requests a minute: at once, or spread over it. Counts in this process only, so that no
 * request waits for another gateway; several gateways let through so many times as much.
 */
export class RequestLimiter {
  readonly #clock: Clock
  readonly #perMinute: number
  readonly #allowances = new LRUCache<string, Allowance>({ max: ASKERS_MAX })

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock
    this.#perMinute = perMinute
  }

  /** Counts a request and returns 0, or returns how many milliseconds to wait and counts none. */
  take(asker: string): number {
    const at = this.#clock.elapsed()
    const before = this.#allowances.get(asker)
    const perMs = this.#perMinute / MINUTE_MS
    const regained = before === undefined ? this.#perMinute : (at - before.at) * perMs
    const left = Math.min(this.#perMinute, (before?.left ?? 0) + regained)
    if (left < 1) return Math.ceil((1 - left) / perMs)
    this.#allowances.set(asker, { left: left - 1, at })
    return 0
  }
}

/**
 * How many requests a process works on at a time. More would wait in memory, each longer than the one before, until
 * their clients have given up and ask again: such requests are refused at once.
 */
export class RequestSlots {
  readonly #max: number
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a slot until the result is disposed. Throws `unavailable` where none is left. */
  take(): Disposable {
    if (this.#taken >= this.#max)
      throw new Failure(
        'unavailable',
        `This gateway already handles ${this.#max} requests and accepts no more now. Please try again.`,
      )
    this.#taken += 1
    return {
      [Symbol.dispose]: () => {
        this.#taken -= 1
      },
    }
  }
}
