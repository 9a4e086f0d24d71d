import { isDeepStrictEqual } from 'node:util'
import type { NatsConnection } from '@nats-io/transport-node'
import { type Clock, untilTick } from '#common/clock.ts'
import { errorFields } from '#common/log.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Metrics } from '#drivers/host-metrics.ts'
import type { HostReport } from '#openapi/wire/host.ts'
import { reportSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'
import { hostReport, wireReleased } from './report.ts'

/** The part of a connection that a reporter uses. */
type Bus = Pick<NatsConnection, 'isClosed' | 'publish'>

const ALIVE_EVERY_MS = 1_500
/** How often the backend is polled for changes without an event; a full report goes out at least so often. */
const CHECK_EVERY_MS = 10_000
const REPORT_EVERY_MS = 60_000
const METRICS_EVERY_MS = 10_000
const METRICS_TIMEOUT_MS = 5_000

/** Reports the host and its guests to the cell: at once, on every change, and every minute. */
export class Reporter implements AsyncDisposable {
  readonly #compute: Compute
  readonly #nats: Bus
  readonly #clock: Clock
  readonly #stop = new AbortController()
  readonly #loops: Promise<unknown>
  readonly #watch: AsyncDisposable
  /** The news in the last report. */
  #sent: object | undefined
  #sentAt = Number.NEGATIVE_INFINITY
  #forgotten = 0
  /** Why the backend cannot be used, as last seen. */
  #down: string | null = null
  /** Measured since the last message, or undefined. */
  #metrics: Metrics | undefined

  constructor(compute: Compute, nats: Bus, clock: Clock) {
    this.#compute = compute
    this.#nats = nats
    this.#clock = clock
    this.#watch = compute.driver.watch(({ id, powerState, fault, released }) => {
      const power = { id, powerState: POWER_STATES[powerState], ...wireReleased(released) }
      this.#publish('power', { ...power, ...(fault !== undefined && { fault }) })
      // A guest may be off again by the next look, as it was at the last one: the cell takes it for running.
      this.forget()
    })
    this.#loops = Promise.all([
      this.#forEver(CHECK_EVERY_MS, () => this.report()),
      this.#forEver(ALIVE_EVERY_MS, () => this.#alive()),
      this.#forEver(METRICS_EVERY_MS, () => this.#measure()),
    ])
  }

  /** Looks, and sends what it saw if that is news or a minute has passed. */
  async report(): Promise<void> {
    const forgotten = this.#forgotten
    const report = await hostReport(this.#compute)
    this.#down = report.down
    const isDue = this.#clock.elapsed() - this.#sentAt >= REPORT_EVERY_MS
    if (!isDue && isDeepStrictEqual(newsOf(report), this.#sent)) return
    this.#publish('report', report)
    this.#sent = forgotten === this.#forgotten ? newsOf(report) : undefined
    this.#sentAt = this.#clock.elapsed()
  }

  /** The next report is sent even if it is unchanged: the cell may have missed the last one, or know of something newer. */
  forget(): void {
    this.#forgotten += 1
    this.#sent = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watch[Symbol.asyncDispose]()
    await this.#loops
  }

  #alive(): Promise<void> {
    const metrics = this.#metrics
    this.#metrics = undefined
    const { id: hostId } = this.#compute.host
    this.#publish('alive', { hostId, down: this.#down, ...(metrics && { metrics }) })
    return Promise.resolve()
  }

  /** What cannot be measured now is unknown from now on: a scheduler must not take an old load for the present one. */
  async #measure(): Promise<void> {
    const { driver, log } = this.#compute
    if (driver.metrics === undefined) return
    try {
      this.#metrics = await driver.metrics.read(AbortSignal.timeout(METRICS_TIMEOUT_MS))
    } catch (error) {
      this.#metrics = {}
      log.debug(errorFields(error), 'metrics not read')
    }
  }

  /** A message that the bus refuses, as too large or while closing, is repeated by the next look. */
  #publish(what: 'report' | 'alive' | 'power', payload: object): void {
    if (this.#nats.isClosed()) return
    const { cellId, id } = this.#compute.host
    try {
      this.#nats.publish(reportSubject(cellId, id, what), JSON.stringify(payload))
    } catch (error) {
      this.#compute.log.error({ what, ...errorFields(error) }, 'word of the host not sent')
    }
  }

  async #forEver(everyMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await work()
      await this.#clock.sleep(untilTick(this.#clock, everyMs), this.#stop.signal).catch(() => {})
    }
  }
}

/** What of a report is news where it has changed. The room in a store changes all the time: a hundredth of its size is news. */
function newsOf({ stores, ...report }: HostReport): object {
  const rooms = stores?.map(({ freeBytes, ...store }) => {
    return { ...store, freePercent: Math.round((100 * freeBytes) / store.totalBytes) }
  })
  return { ...report, stores: rooms }
}
