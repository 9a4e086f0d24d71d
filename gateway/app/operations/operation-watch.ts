import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { endedSubject } from '#openapi/wire.ts'

/** The interval of reads that replace lost messages of the bus, as when the gateway that ended the operation died. */
const POLL_MS = 5_000

export interface OperationWatchOptions {
  /** Those of these ids that have not ended. */
  readonly running: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  readonly nats: Pick<NatsConnection, 'subscribe' | 'publish' | 'isClosed'>
  readonly clock: Clock
  readonly log: Logger
}

interface Waited {
  readonly wakes: Set<() => void>
  readonly subscription: Subscription
}

/**
 * Wakes requests that wait for the end of operations as soon as a gateway announces that an operation ended. One
 * query serves all of them when a new one waits, another now and then, and none is made while no request waits.
 */
export class OperationWatch implements AsyncDisposable {
  readonly #options: OperationWatchOptions
  readonly #waited = new Map<string, Waited>()
  readonly #rounds: RunningReconciler
  #isClosed = false

  constructor(options: OperationWatchOptions) {
    this.#options = options
    const round = () => this.#round()
    const reconciler = { name: 'operations waited for', everyMs: POLL_MS, round }
    this.#rounds = new RunningReconciler(reconciler, options.clock, options.log)
  }

  /** Resolves once the operation does not run, or `until` aborts. */
  async ended(id: string, until: AbortSignal): Promise<void> {
    if (this.#isClosed || until.aborted || this.#options.nats.isClosed()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waited = this.#waited.get(id) ?? this.#listenFor(id)
    waited.wakes.add(resolve)
    until.addEventListener('abort', () => resolve(), { once: true })
    // After it is listened for: what ended before is seen by the look.
    this.#rounds.wake()
    await promise
    waited.wakes.delete(resolve)
    if (waited.wakes.size === 0 && this.#waited.get(id) === waited) this.#wake(id)
  }

  /** Notifies all gateways that the operation has ended. */
  notify(id: string): void {
    const { nats } = this.#options
    this.#wake(id)
    if (!nats.isClosed()) nats.publish(endedSubject(id))
  }

  /** Afterwards no request waits, and no new one is taken. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const id of this.#waited.keys()) this.#wake(id)
    await this.#rounds[Symbol.asyncDispose]()
  }

  #listenFor(id: string): Waited {
    const callback = () => this.#wake(id)
    const subscription = this.#options.nats.subscribe(endedSubject(id), { callback })
    const waited = { wakes: new Set<() => void>(), subscription }
    this.#waited.set(id, waited)
    return waited
  }

  async #round(): Promise<{ readonly waited: number }> {
    const asked = [...this.#waited.keys()]
    if (asked.length === 0) return { waited: 0 }
    const left = await this.#options.running(asked)
    for (const id of asked.filter((each) => !left.has(each))) this.#wake(id)
    return { waited: left.size }
  }

  #wake(id: string): void {
    const waited = this.#waited.get(id)
    if (waited === undefined) return
    this.#waited.delete(id)
    if (!waited.subscription.isClosed()) waited.subscription.unsubscribe()
    for (const resolve of waited.wakes) resolve()
  }
}
