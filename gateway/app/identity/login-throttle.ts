import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'

/** How many failures an account has, in which time, before it is locked for the rest of that time. */
export interface Lockout {
  readonly failuresMax: number
  readonly windowMs: number
}

/** Accounts watched; guesses spread over more accounts than this are few per account. */
const ACCOUNTS_MAX = 10_000

/** Counts failed logins per account, existing or not, in this process: guessing gets slow, and costs no hashing. */
export class LoginThrottle {
  readonly #failures = new LRUCache<string, { count: number; readonly since: number }>({
    max: ACCOUNTS_MAX,
  })
  readonly #clock: Clock
  readonly #lockout: Lockout

  constructor(clock: Clock, lockout: Lockout) {
    this.#clock = clock
    this.#lockout = lockout
  }

  /** True while the account has had its failures of the current window. */
  isExhausted(account: string): boolean {
    return (this.#current(account)?.count ?? 0) >= this.#lockout.failuresMax
  }

  failed(account: string): void {
    const current = this.#current(account)
    if (current !== undefined) current.count += 1
    else this.#failures.set(account, { count: 1, since: this.#clock.elapsed() })
  }

  succeeded(account: string): void {
    this.#failures.delete(account)
  }

  #current(account: string) {
    const entry = this.#failures.get(account)
    if (entry === undefined) return undefined
    return this.#clock.elapsed() - entry.since < this.#lockout.windowMs ? entry : undefined
  }
}
