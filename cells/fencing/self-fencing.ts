import type { Clock } from '#common/clock.ts'
import type { HostId } from '#common/ids.ts'

/** What is to be done about a host that is to stop its guests by itself. */
export type SelfFencingStep = 'leave-alone' | 'wait' | 'fenced'

/**
 * Until the last process of the cell knows that the host is left alone, what that had sent has arrived, and the host
 * has stopped the last guest.
 */
const MARGIN_MS = 30_000

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

  /** `afterMs`: how long after the last contact a host stops its guests. */
  constructor(clock: Clock, afterMs: number) {
    this.#clock = clock
    this.#afterMs = afterMs
  }

  /** The hosts as read last: those that are not left alone, or not any more, begin from the start. */
  observe(hosts: readonly { readonly id: HostId; readonly isLeftAlone: boolean }[]): void {
    const alone = new Set(hosts.filter(({ isLeftAlone }) => isLeftAlone).map(({ id }) => id))
    for (const id of this.#since.keys()) if (!alone.has(id)) this.#since.delete(id)
    const now = this.#clock.elapsed()
    for (const id of alone) if (!this.#since.has(id)) this.#since.set(id, now)
  }

  /** Of a host that is to be fenced. */
  step(id: HostId): SelfFencingStep {
    const since = this.#since.get(id)
    if (since === undefined) return 'leave-alone'
    return this.#clock.elapsed() - since > this.#afterMs + MARGIN_MS ? 'fenced' : 'wait'
  }
}
