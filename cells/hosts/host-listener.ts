import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Static, TSchema } from 'typebox'
import { workContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { checked } from '#openapi/wire/checked.ts'
import { HostAlive, HostReport, InstancePower } from '#openapi/wire/host.ts'
import { innerSubject, reportSubject } from '#openapi/wire.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { findInstance } from '../db/instances.ts'
import { auditHost } from './audit-host.ts'
import { recordReport } from './record-report.ts'
import { tellSiblings } from './tell-siblings.ts'

/** One process of the cell writes down what all of them hear. */
const QUEUE = 'conductor'
/** Words of hosts in hand at once; more are dropped, since every host repeats itself. */
const OPEN_MAX = 500

/** Hears the cell's hosts until disposed: notes who lives, records what they report, and audits their guests. */
export class HostListener implements AsyncDisposable {
  readonly #cell: Cell
  readonly #hostsChanged: () => void
  readonly #subscriptions: readonly Subscription[]
  readonly #open = new Set<Promise<void>>()
  readonly #audited = new Set<HostId>()
  /** Hosts that have reported since this began to listen, or are being asked to. */
  readonly #reported = new Set<HostId>()

  /** `hostsChanged` is called when what the cell could take may have become another. */
  constructor(cell: Cell, hostsChanged: () => void) {
    this.#cell = cell
    this.#hostsChanged = hostsChanged
    this.#subscriptions = [
      this.#subscribe('alive', HostAlive, ({ hostId, down }) => this.#noteAlive(hostId, down)),
      this.#subscribe('alive', HostAlive, ({ hostId }) => this.#meet(hostId as HostId), QUEUE),
      this.#subscribe('report', HostReport, (report) => this.#noteReport(report)),
      this.#subscribe('report', HostReport, (report) => this.#record(report), QUEUE),
      this.#subscribe('power', InstancePower, (power) => this.#doubt(power), QUEUE),
      this.#listen(innerSubject(cell.conductor.cellId, 'hosts-changed'), () =>
        cell.conductor.hosts.refresh(),
      ),
    ]
  }

  /** Meets every host anew: after a reconnect nobody knows what was missed. */
  forget(): void {
    this.#reported.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions)
      if (!subscription.isClosed()) subscription.unsubscribe()
    await Promise.allSettled(this.#open)
  }

  #subscribe<T extends TSchema>(
    what: 'alive' | 'report' | 'power',
    schema: T,
    heed: (said: Static<T>) => Promise<void>,
    queue?: string,
  ): Subscription {
    const subject = reportSubject(this.#cell.conductor.cellId, '*', what)
    return this.#listen(
      subject,
      (message) => {
        const said = checked(schema, message.json(), message.subject)
        assertOwn(message.subject, said)
        return heed(said)
      },
      queue,
    )
  }

  #listen(subject: string, heed: (message: Msg) => Promise<void>, queue?: string): Subscription {
    return this.#cell.conductor.nats.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error !== null || this.#open.size >= OPEN_MAX) return
        const done = this.#heed(message, heed)
        this.#open.add(done)
        void done.finally(() => this.#open.delete(done))
      },
    })
  }

  async #heed(message: Msg, heed: (message: Msg) => Promise<void>): Promise<void> {
    const { log } = this.#cell.conductor
    try {
      await heed(message)
    } catch (error) {
      const level = isFailure(error, 'unavailable', 'conflict') ? 'warn' : 'error'
      log[level]({ subject: message.subject, ...errorFields(error) }, 'word of a host not heeded')
    }
  }

  #noteAlive(hostId: string, down: string | null): Promise<void> {
    this.#cell.conductor.hosts.heard(hostId as HostId, down)
    return Promise.resolve()
  }

  #noteReport({ hostId, down }: HostReport): Promise<void> {
    this.#reported.add(hostId as HostId)
    return this.#noteAlive(hostId, down)
  }

  /** A host that reported before anybody here listened would report again only a minute later. */
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
    await recordReport(conductor, report)
    await conductor.hosts.refresh()
    this.#hostsChanged()
    tellSiblings(conductor)
    if (report.down !== null) return
    const guests = report.hasMore === true ? undefined : report.instances
    await this.#audit(report.hostId as HostId, guests)
  }

  /** Every boot tells of a guest that runs; one that does not, and that nobody is changing, is looked into. */
  async #doubt({ id, powerState }: Static<typeof InstancePower>): Promise<void> {
    if (powerState === POWER_STATES.running) return
    const instance = await findInstance(this.#cell.conductor.db, id as InstanceId)
    if (instance === undefined || instance.sagaId !== null) return
    if (instance.placed !== null && instance.powerState !== powerState)
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

/** The bus lets a host speak below its own id only, so the subject says who speaks. */
function assertOwn(subject: string, said: object): void {
  if (!('hostId' in said) || said.hostId === subject.split('.')[2]) return
  throw new Failure('forbidden', 'A host speaks of another one.')
}
