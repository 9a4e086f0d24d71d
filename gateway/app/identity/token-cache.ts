import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'
import type { TokenView } from './token-view.ts'

const TOKENS_MAX = 10_000
/** Without word of revocations for this long, a cached token may have been revoked: the database decides again. */
export const REVOCATIONS_STALE_MAX_MS = 800

/**
 * Verified tokens by their hash. A revoked token is gone as soon as `apply` has received the revocation; while
 * revocations cannot be read, no token is given out.
 */
export class TokenCache {
  readonly #views = new LRUCache<string, TokenView>({ max: TOKENS_MAX })
  readonly #clock: Clock
  #readAt = Number.NEGATIVE_INFINITY
  #changes = 0
  #asked = Promise.withResolvers<void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A token that is valid now; undefined when only the database can tell. */
  get(id: string): TokenView | undefined {
    this.#asked.resolve()
    if (this.#clock.elapsed() - this.#readAt > REVOCATIONS_STALE_MAX_MS) return undefined
    const view = this.#views.get(id)
    return view !== undefined && view.record.expiresAt.getTime() > this.#clock.now()
      ? view
      : undefined
  }

  /** Resolves at the next request for a token, or on a signal: until then revocations need not be read. */
  nextRequest(signal: AbortSignal): Promise<void> {
    const asked = Promise.withResolvers<void>()
    const end = () => asked.resolve()
    signal.addEventListener('abort', end, { once: true })
    this.#asked = asked
    return asked.promise.then(() => signal.removeEventListener('abort', end))
  }

  /** A mark to be taken before reading a token from the database and given to `put` afterwards. */
  get mark(): number {
    return this.#changes
  }

  /** Keeps the view unless something was revoked since the mark: the read may have been older than that. */
  put(view: TokenView, mark: number): void {
    if (mark === this.#changes) this.#views.set(view.record.id, view)
  }

  drop(id: string): void {
    this.#changes += 1
    this.#views.delete(id)
  }

  dropAll(): void {
    this.#changes += 1
    this.#views.clear()
  }

  /** All revocations committed before this time (of the clock) have been applied to the cache. */
  recordRead(at: number): void {
    this.#readAt = at
  }
}
