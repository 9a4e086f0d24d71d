const LEAST_MS = 300
/** Above the least, pauses grow to this while no answer comes, unless answers usually take longer. */
const GROWN_MS = 1_000
const MOST_MS = 5_000
/** A question waits for so many times as long as answers take before it is repeated. */
const TIMES = 4
/** The weight of the newest answer. */
const WEIGHT = 1 / 16

/**
 * How long a question waits before it is repeated: soon while answers come soon, so that a lost one costs little, and
 * late while they come late, so that a recipient with too much work is not given more.
 */
export class RepeatPauses {
  #averageMs = 0

  /** An answer came after this time. */
  answered(tookMs: number): void {
    this.#averageMs += WEIGHT * (tookMs - this.#averageMs)
  }

  /** Milliseconds from the question to its first repeat. */
  first(): number {
    return Math.min(Math.max(TIMES * this.#averageMs, LEAST_MS), MOST_MS)
  }

  /** The pause that follows this one. */
  after(pauseMs: number): number {
    return Math.max(pauseMs, Math.min(2 * pauseMs, GROWN_MS))
  }
}
