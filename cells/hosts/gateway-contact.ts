import type { Clock } from '#common/clock.ts'

/** When this process last heard a gateway: each of its questions is one. */
export class GatewayContact {
  readonly #clock: Clock
  #at: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  heard(): void {
    this.#at = this.#clock.elapsed()
  }

  /** Milliseconds since then; undefined when none was heard since this was asked last. */
  takeAge(): number | undefined {
    const at = this.#at
    this.#at = undefined
    return at === undefined ? undefined : Math.round(this.#clock.elapsed() - at)
  }
}
