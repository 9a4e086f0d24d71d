import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Static, TSchema } from 'typebox'
import { MessageLimiter } from '#common/bus/message-limiter.ts'
import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import { nodeShares } from '#common/numa-providers.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { checked } from '#openapi/wire/checked.ts'
import { HostAlive, HostReport, InstancePower } from '#openapi/wire/host.ts'
import { innerSubject, reportSubject } from '#openapi/wire.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'
import { auditHost } from './audit-host.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { notifySiblings } from './notify-siblings.ts'
import { recordReport } from './record-report.ts'

/** One process of the cell writes down what all of them hear. */
const QUEUE = 'conductor'
/**
 * Of one host. A host that comes back with a thousand guests sends a report for each; dropped ones are in its next
 * full report.
 */
const MESSAGES_PER_SECOND = 200

/** A guest that ends is mostly being deleted. A moment later it needs no audit, or shares one with others. */
const DOUBT_AFTER_MS = 100

type Power = Static<typeof InstancePower>
type Handle = (message: Msg) => Promise<void>

/** Receives the messages of the cell's hosts until disposed: records their liveness and reports, and audits their guests. */
export class HostListener implements AsyncDisposable {
  readonly #cell: Cell
  readonly #hostsChanged: () => void
  readonly #subscriptions: readonly Subscription[]
  readonly #limiter: MessageLimiter
  readonly #queues: KeyedQueue<string, Msg>[] = []
  readonly #audited = new Set<HostId>()
  /** The last report about guests that may have ended by themselves. */
  readonly #doubted = new Map<string, Power>()
  #doubting: Promise<void> = Promise.resolve()
  /** Hosts that have reported since this process subscribed, or have been asked to. */
  readonly #reported = new Set<HostId>()

  /** `hostsChanged` is called when the free resources of the cell may have changed. */
  constructor(cell: Cell, hostsChanged: () => void) {
    this.#cell = cell
    this.#hostsChanged = hostsChanged
    this.#limiter = new MessageLimiter(
      cell.conductor.clock,
      cell.conductor.log,
      MESSAGES_PER_SECOND,
    )
    this.#subscriptions = [
      this.#followLiveness(),
      this.#subscribe('alive', HostAlive, ({ hostId }) => this.#meet(hostId as HostId), QUEUE),
      this.#subscribe('report', HostReport, (report) => this.#record(report), QUEUE),
      this.#followReports(),
      this.#subscribe('power', InstancePower, async (power) => this.#doubt(power), QUEUE),
      this.#listenQueued(innerSubject(cell.conductor.cellId, 'hosts-changed'), 1, () =>
        cell.conductor.hosts.refresh(),
      ),
    ]
  }

  /** Takes the next report of every host as its first: after a reconnect it is unknown which ones were missed. */
  forget(): void {
    this.#reported.clear()
    this.#cell.conductor.hosts.restartSilence()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions)
      if (!subscription.isClosed()) subscription.unsubscribe()
    await Promise.all(this.#queues.map((each) => each.end()))
    await this.#doubting
  }

  /** Every process records the liveness of hosts at once, before all other work. */
  #followLiveness(): Subscription {
    const subject = reportSubject(this.#cell.conductor.cellId, '*', 'alive')
    return this.#listen(subject, (message) => {
      try {
        const { hostId, down, metrics } = this.#parsed(HostAlive, message)
        this.#cell.conductor.hosts.recordReport(hostId as HostId, down, metrics)
      } catch (error) {
        this.#logDropped(message, error)
      }
    })
  }

  /** Every process notes that a host has reported; one of them reads the report. */
  #followReports(): Subscription {
    const subject = reportSubject(this.#cell.conductor.cellId, '*', 'report')
    return this.#listen(subject, ({ subject: from }) => this.#reported.add(hostOf(from) as HostId))
  }

  #subscribe<T extends TSchema>(
    what: 'alive' | 'report' | 'power',
    schema: T,
    handle: (report: Static<T>) => Promise<void>,
    queue?: string,
  ): Subscription {
    const subject = reportSubject(this.#cell.conductor.cellId, '*', what)
    const read: Handle = async (message) => handle(this.#parsed(schema, message))
    // A report replaces earlier ones; messages about power states each concern other guests.
    const waitingMax = what === 'power' ? MESSAGES_PER_SECOND : 1
    return this.#listenQueued(subject, waitingMax, read, queue)
  }

  #listenQueued(subject: string, waitingMax: number, handle: Handle, queue?: string): Subscription {
    const waiting = new KeyedQueue<string, Msg>(waitingMax, (message) =>
      this.#handle(message, handle),
    )
    this.#queues.push(waiting)
    return this.#listen(subject, (message) => waiting.add(hostOf(message.subject), message), queue)
  }

  #listen(subject: string, take: (message: Msg) => void, queue?: string): Subscription {
    return this.#cell.conductor.nats.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error === null && this.#limiter.admits(hostOf(message.subject))) take(message)
      },
    })
  }

  async #handle(message: Msg, handle: Handle): Promise<void> {
    try {
      await handle(message)
    } catch (error) {
      this.#logDropped(message, error)
    }
  }

  #logDropped({ subject }: Msg, error: unknown): void {
    this.#limiter.logDropped(hostOf(subject), { subject, ...errorFields(error) })
  }

  #parsed<T extends TSchema>(schema: T, message: Msg): Static<T> {
    const report = checked(schema, message.json(), message.subject)
    assertOwn(message.subject, report as object)
    return report
  }

  /** A host that reported before this process subscribed would repeat its report only a minute later. */
  async #meet(hostId: HostId): Promise<void> {
    if (this.#reported.has(hostId)) return
    this.#reported.add(hostId)
    try {
      const { conductor } = this.#cell
      await this.#record(await askHost(conductor, hostId, 'report', {}, workContext({})))
    } catch (error) {
      this.#reported.delete(hostId)
      throw error
    }
  }

  async #record(report: HostReport): Promise<void> {
    const { conductor } = this.#cell
    const hostId = report.hostId as HostId
    conductor.hosts.recordReport(hostId, report.down)
    const audit = async () => {
      if (report.down !== null) return
      await this.#audit(hostId, report.hasMore === true ? undefined : report.instances)
    }
    // What is on NUMA nodes is counted before others are offered the rest of them.
    if (this.#beginsToCountNodes(report)) await audit()
    await recordReport(conductor, report)
    await conductor.hosts.refresh()
    this.#hostsChanged()
    notifySiblings(conductor)
    await audit()
  }

  #beginsToCountNodes({ hostId, inventory }: HostReport): boolean {
    const { hosts } = this.#cell.conductor
    const isCounting = hosts.countedNodes(hostId as HostId).length > 0
    return inventory !== null && nodeShares(inventory).length > 0 && !isCounting
  }

  /** Every boot reports a guest that runs; one that does not run, and is not being changed, is audited. */
  #doubt(power: Power): void {
    const { powerState, fault, released } = power
    if (powerState === POWER_STATES.running && fault === undefined && released === undefined) return
    this.#doubted.set(power.id, power)
    if (this.#doubted.size === 1) this.#doubting = this.#checkDoubted()
  }

  async #checkDoubted(): Promise<void> {
    const { clock, log } = this.#cell.conductor
    await clock.sleep(DOUBT_AFTER_MS)
    const doubted = [...this.#doubted.values()]
    this.#doubted.clear()
    for (const result of await Promise.allSettled(doubted.map((power) => this.#check(power))))
      if (result.status === 'rejected')
        log.warn(errorFields(result.reason), 'power state not checked')
  }

  async #check({ id, powerState, fault, released }: Power): Promise<void> {
    const instance = await findInstance(this.#cell.conductor.db, id as InstanceId)
    if (instance === undefined || instance.sagaId !== null) return
    const isNews = instance.powerState !== powerState || fault !== undefined
    if (instance.placed !== null && (isNews || released !== undefined))
      await this.#audit(instance.placed.hostId)
  }

  async #audit(hostId: HostId, guests?: HostReport['instances']): Promise<void> {
    if (this.#audited.has(hostId)) return
    this.#audited.add(hostId)
    try {
      await auditHost(this.#cell, hostId, guests)
    } finally {
      this.#audited.delete(hostId)
    }
  }
}

/** The bus lets a host publish only on subjects with its own id, so the subject names the sender. */
function assertOwn(subject: string, report: object): void {
  if (!('hostId' in report) || report.hostId === hostOf(subject)) return
  throw new Failure('forbidden', 'A host reported data of another host.')
}

/** The host that says something below this subject; of the cell's own subjects the cell. */
function hostOf(subject: string): string {
  return subject.split('.')[2] ?? ''
}
