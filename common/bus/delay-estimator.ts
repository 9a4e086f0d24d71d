import { LRUCache } from 'lru-cache'

/** How long messages of one sender have taken at least, by the two ends' counts, which may differ by any amount. */
interface Usual {
  readonly since: number
  readonly least: number
  readonly leastBefore: number
}

const SENDERS_MAX = 1_000
/** A sender whose count jumped, as that of a machine that slept does, is believed after twice as long. */
const WINDOW_MS = 10_000

/**
 * Estimates how late messages come, by counts that no setting of a clock changes and that need not agree: by how much
 * a message took longer than others of its sender did lately.
 */
export class DelayEstimator {
  readonly #usual = new LRUCache<string, Usual>({ max: SENDERS_MAX })

  /** Milliseconds; 0 for a sender's first message. Times are milliseconds, each since a moment of its own. */
  of(sender: string, sentAt: number, receivedAt: number): number {
    const took = receivedAt - sentAt
    const usual = this.#usual.get(sender)
    if (usual === undefined) {
      this.#usual.set(sender, { since: receivedAt, least: took, leastBefore: took })
      return 0
    }
    const isOver = receivedAt - usual.since > WINDOW_MS
    const next: Usual = isOver
      ? { since: receivedAt, least: took, leastBefore: usual.least }
      : { ...usual, least: Math.min(usual.least, took) }
    this.#usual.set(sender, next)
    return Math.max(0, took - Math.min(next.least, next.leastBefore))
  }
}
