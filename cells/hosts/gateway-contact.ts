import type { Clock } from '#common/clock.ts'

/** The time of the last message from a gateway: each request of a gateway is one. */
export class GatewayContact {
  readonly #clock: Clock
  #at: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  recordRequest(): void {
    this.#at = this.#clock.elapsed()
  }

  /** Milliseconds since the last message; undefined if none has come since the last call. */
  takeAge(): number | undefined {
    const at = this.#at
    this.#at = undefined
    return at === undefined ? undefined : Math.round(this.#clock.elapsed() - at)
  }
}
