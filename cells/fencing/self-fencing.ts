import type { Clock } from '#common/clock.ts'
import type { HostId } from '#common/ids.ts'

/** What is to be done about a host that is to stop its guests by itself. */
export type SelfFencingStep = 'leave-alone' | 'wait' | 'fenced'

/**
 * Until the last process of the cell knows that the host is left alone, what that had sent has arrived, and the host
 * has stopped the last guest.
 */
const MARGIN_MS = 30_000
/** A host that is heard again, and then silent, is left alone again five seconds later at the earliest. */
const UNSEEN_MAX_MS = 4_000

/**
 * How far hosts have come that stop their guests by themselves. A host does so some time after the last contact that it
 * was told of. The time is counted from the commit that leaves it alone and not from its last report: until then another
 * process of the cell may have heard the host, and told it of contact.
 */
export class SelfFencing {
  readonly #clock: Clock
  readonly #afterMs: number
  /** By `Clock.elapsed`: since when this process knows that the host is left alone. */
  readonly #since = new Map<HostId, number>()
  #readAt = Number.NEGATIVE_INFINITY

  /** `afterMs`: how long after the last contact a host stops its guests. */
  constructor(clock: Clock, afterMs: number) {
    this.#clock = clock
    this.#afterMs = afterMs
  }

  /**
   * The hosts as read so long ago: those that are not left alone, or not any more, begin from the start, and so do all after
   * a time in which one may have been in touch unseen.
   */
  observe(
    hosts: readonly { readonly id: HostId; readonly isLeftAlone: boolean }[],
    ageMs: number,
  ): void {
    const alone = new Set(hosts.filter(({ isLeftAlone }) => isLeftAlone).map(({ id }) => id))
    for (const id of this.#since.keys()) if (!alone.has(id)) this.#since.delete(id)
    const now = this.#clock.elapsed()
    const readAt = now - ageMs
    if (readAt - this.#readAt > UNSEEN_MAX_MS) this.#since.clear()
    this.#readAt = readAt
    for (const id of alone) if (!this.#since.has(id)) this.#since.set(id, now)
  }

  /** Of a host that is to be fenced. */
  step(id: HostId): SelfFencingStep {
    const since = this.#since.get(id)
    if (since === undefined) return 'leave-alone'
    const now = this.#clock.elapsed()
    const isKnown = now - this.#readAt <= UNSEEN_MAX_MS
    return isKnown && now - since > this.#afterMs + MARGIN_MS ? 'fenced' : 'wait'
  }
}
