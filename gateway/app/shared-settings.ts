import type { NatsConnection } from '@nats-io/transport-node'
import { errorFields, type Logger } from '#common/log.ts'
import { settingsSubject } from '#openapi/wire.ts'
import type { ComputeDeps } from './compute.ts'
import type { KnownPeer } from './peers.ts'

export interface SharedSettingsOptions {
  readonly nats: NatsConnection
  readonly log: Logger
  readonly compute: Pick<ComputeDeps, 'cells' | 'placementPolicies'>
  readonly peers: () => readonly KnownPeer[]
}

/** One that has not answered by then reads them by itself, within a second. */
const ANSWERS_LIMIT_MS = 1_000

/**
 * What every gateway keeps in memory of the operators' settings: cells and placement policies. Each reads them every second,
 * and when another tells of a change.
 */
export class SharedSettings implements Disposable {
  readonly #options: SharedSettingsOptions
  readonly #stop: () => void

  constructor(options: SharedSettingsOptions) {
    this.#options = options
    const { nats, log } = options
    const subscription = nats.subscribe(settingsSubject(), {
      callback: (error, message) => {
        if (error !== null) return
        this.#read().then(
          () => message.respond(),
          (failure: unknown) => log.warn(errorFields(failure), 'changed settings not read'),
        )
      },
    })
    this.#stop = () => {
      if (!nats.isClosed()) subscription.unsubscribe()
    }
  }

  [Symbol.dispose](): void {
    this.#stop()
  }

  /** After a change was committed: afterwards it is in force here, and at every other gateway that answers in time. */
  async changed(): Promise<void> {
    await Promise.all([this.#read(), this.#tell()])
  }

  async #read(): Promise<void> {
    const { cells, placementPolicies } = this.#options.compute
    await Promise.all([cells.refresh(), placementPolicies.refresh()])
  }

  async #tell(): Promise<void> {
    const { nats, log, peers } = this.#options
    const present = peers().filter(({ leftMs }) => leftMs === undefined).length
    if (present === 0 || nats.isClosed()) return
    try {
      // It answers itself, too.
      const count = {
        strategy: 'count',
        maxMessages: present + 1,
        maxWait: ANSWERS_LIMIT_MS,
      } as const
      for await (const _answer of await nats.requestMany(settingsSubject(), '', count));
    } catch (error) {
      log.warn(errorFields(error), 'other gateways not told of changed settings')
    }
  }
}
