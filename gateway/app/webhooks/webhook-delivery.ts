import { errorFields, type Logger } from '#common/log.ts'
import { type Reconciler, RunningReconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { dueLetters } from '../../db/webhook-dead-letters.ts'
import { areWebhooks, dueWebhooks } from '../../db/webhook-deliveries.ts'
import { type DeliveryDeps, deliver, type Permit, redeliver } from './deliver.ts'

export interface WebhookDeliveryOptions extends DeliveryDeps {
  readonly log: Logger
  /** Stable over restarts of this gateway process, and no other's. */
  readonly processName: string
}

/** For events that other gateways have numbered. */
const EVERY_MS = 1_000
/** While there is no webhook: one that is made here wakes it. */
const IDLE_MS = 10_000
const LEASE_NAME = 'webhooks'
const LEASE_TTL_MS = 5_000
/** Deliveries at a time. */
const HEALTHY_MAX = 64
/** The same to receivers whose last attempt failed, and of dead letters: they take no place of the others. */
const FAILING_MAX = 32

/**
 * Sends events to the webhooks of their projects, from one gateway at a time. Each webhook is served on its own, so one
 * that does not answer delays no other.
 */
export class WebhookDelivery implements AsyncDisposable {
  readonly #options: WebhookDeliveryOptions
  readonly #lease: HeldLease
  readonly #stop = new AbortController()
  #isIdle = false
  readonly #healthy = new Map<string, Promise<void>>()
  readonly #failing = new Map<string, Promise<void>>()
  readonly #running: RunningReconciler

  constructor(options: WebhookDeliveryOptions) {
    const { db, clock, processName: holder, log } = options
    this.#options = options
    this.#lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
    this.#running = new RunningReconciler(this.#reconciler(), clock, log)
  }

  /** Looks for new events now, and for webhooks. */
  wake(): void {
    this.#running.wake()
  }

  /** Looks for new events now, unless there was no webhook when it looked last. */
  numbered(): void {
    if (!this.#isIdle) this.wake()
  }

  /** Afterwards nothing is sent any more, and another gateway may send at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#running[Symbol.asyncDispose]()
    await Promise.all([...this.#healthy.values(), ...this.#failing.values()])
    await this.#lease.letGo().catch(() => undefined)
  }

  #reconciler(): Reconciler {
    const everyMs = () => (this.#isIdle ? IDLE_MS : EVERY_MS)
    return {
      name: 'webhooks',
      get everyMs() {
        return everyMs()
      },
      round: async () => {
        const { db, rules } = this.#options
        this.#isIdle = !(await areWebhooks(db))
        if (this.#isIdle) return { due: 0, sending: 0 }
        const [healthy, failing, letters] = await Promise.all([
          dueWebhooks(db, false, rules.retryMs, 2 * HEALTHY_MAX),
          dueWebhooks(db, true, rules.retryMs, 2 * FAILING_MAX),
          dueLetters(db, 2 * FAILING_MAX),
        ])
        const due = healthy.length + failing.length + letters.length
        // Without anything to send no lease is needed, whose renewals an idle database would notice.
        if (due === 0 || (await this.#lease.hold()) === undefined) return { due, sending: 0 }
        const permit = this.#permit()
        const { db: _, ...deps } = this.#options
        const all = { db, ...deps }
        for (const webhook of healthy)
          this.#start(this.#healthy, HEALTHY_MAX, webhook.id, () => deliver(all, webhook, permit))
        for (const webhook of failing)
          this.#start(this.#failing, FAILING_MAX, webhook.id, () => deliver(all, webhook, permit))
        for (const letter of letters)
          this.#start(this.#failing, FAILING_MAX, `letter ${letter.webhookId}`, () =>
            redeliver(all, letter, permit),
          )
        return { due, sending: this.#healthy.size + this.#failing.size }
      },
    }
  }

  #permit(): Permit {
    const { signal } = this.#stop
    return { signal, mayGoOn: async () => !signal.aborted && (await this.#lease.keep()) }
  }

  /** One delivery to a webhook at a time: a later event never overtakes an earlier one. */
  #start(
    running: Map<string, Promise<void>>,
    max: number,
    id: string,
    work: () => Promise<void>,
  ): void {
    if (this.#stop.signal.aborted || running.size >= max) return
    if (this.#healthy.has(id) || this.#failing.has(id)) return
    const done = work()
      .catch((error: unknown) =>
        this.#options.log.warn({ webhook: id, ...errorFields(error) }, 'events not delivered'),
      )
      .finally(() => {
        running.delete(id)
        this.wake()
      })
    running.set(id, done)
  }
}
