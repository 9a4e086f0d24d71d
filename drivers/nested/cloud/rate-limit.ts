import { setTimeout as sleep } from 'node:timers/promises'

/** Lets so many requests a second begin, and none before a time that the cloud has named. */
export class RateLimit {
  readonly #everyMs: number
  readonly #burstMs: number
  /** When the next request may begin, in epoch milliseconds, were there no burst. */
  #nextAt = 0
  #pausedUntil = 0

  constructor(perSecond: number) {
    this.#everyMs = 1_000 / perSecond
    this.#burstMs = 1_000
  }

  /** Resolves when the request may begin; throws the signal's reason when it aborts before. */
  async turn(signal: AbortSignal): Promise<void> {
    const now = performance.now()
    this.#nextAt = Math.max(this.#nextAt, now - this.#burstMs) + this.#everyMs
    const at = this.#nextAt
    while (performance.now() < Math.max(at, this.#pausedUntil)) {
      const waitMs = Math.max(at, this.#pausedUntil) - performance.now()
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  /** No request begins for so long. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms)
  }
}
