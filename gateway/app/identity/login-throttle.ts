import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'
import type { QueueClient } from '../fair-queue.ts'

/** How many failures an account has from one peer, in which time, before that peer is refused for the rest of that time. */
export interface Lockout {
  readonly failuresMax: number
  readonly windowMs: number
}

/** Pairs watched; guesses spread over more than this are few of each. */
const WATCHED_MAX = 10_000

/**
 * Counts failed logins per account, existing or not, and peer, in this process: guessing gets slow, and costs no
 * hashing. Not per account alone, since a person who knows a name could then lock its owner out.
 */
export class LoginThrottle {
  readonly #failures = new LRUCache<string, { count: number; readonly since: number }>({
    max: WATCHED_MAX,
  })
  readonly #clock: Clock
  readonly #lockout: Lockout

  constructor(clock: Clock, lockout: Lockout) {
    this.#clock = clock
    this.#lockout = lockout
  }

  /** True while the peer has had its failures of the current window. */
  isExhausted(asker: QueueClient): boolean {
    return (this.#current(asker)?.count ?? 0) >= this.#lockout.failuresMax
  }

  failed(asker: QueueClient): void {
    const current = this.#current(asker)
    if (current !== undefined) current.count += 1
    else this.#failures.set(keyOf(asker), { count: 1, since: this.#clock.elapsed() })
  }

  succeeded(asker: QueueClient): void {
    this.#failures.delete(keyOf(asker))
  }

  #current(asker: QueueClient) {
    const entry = this.#failures.get(keyOf(asker))
    if (entry === undefined) return undefined
    return this.#clock.elapsed() - entry.since < this.#lockout.windowMs ? entry : undefined
  }
}

function keyOf({ peer, account }: QueueClient): string {
  return `${peer}\0${account}`
}
