import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { readServerEvents } from './compute/server-events.ts'
import type { NestedHost } from './host.ts'

/** When more servers have changed at once, a list costs the cloud less. */
const READS_MAX = 16
const RESUME_MS = 200

/**
 * Reads each of our servers for which the nested cloud sends an event, until `signal` aborts. Only another Weir sends
 * events; lists show the changes that are missed.
 */
export async function followEvents(host: NestedHost, signal: AbortSignal): Promise<void> {
  const { cloud, settings, logger } = host
  let last: string | undefined
  while (!signal.aborted) {
    let waitMs = settings.idlePollMs
    try {
      // Any answer shows what the cloud is.
      await cloud.access(signal)
      if (cloud.isWeir) {
        using stream = new Stream(host, last === undefined, signal)
        const at = (eventId: string) => {
          last = eventId
          waitMs = RESUME_MS
          stream.begin()
        }
        const changed = (serverId: string) => stream.change(serverId)
        await readServerEvents(cloud, last, { at, changed }, signal)
      }
    } catch (error) {
      if (signal.aborted) return
      if (last !== undefined && isFailure(error, 'not-found')) {
        last = undefined
        waitMs = RESUME_MS
      }
      logger?.warn(errorFields(error), 'the events of the nested cloud are not followed')
    }
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** One stream of events, and what it makes be looked at. */
class Stream implements Disposable {
  readonly #host: NestedHost
  readonly #isFirst: boolean
  readonly #signal: AbortSignal
  readonly #changed = new Set<string>()
  #isReading = false
  #state: 'closed' | 'open' | 'over' = 'closed'

  constructor(host: NestedHost, isFirst: boolean, signal: AbortSignal) {
    this.#host = host
    this.#isFirst = isFirst
    this.#signal = signal
  }

  /** The cloud reports all events from here on. Earlier changes are shown by a list. */
  begin(): void {
    if (this.#state !== 'closed') return
    this.#state = 'open'
    const { view } = this.#host
    const caughtUp = this.#isFirst ? view.refresh(this.#signal) : Promise.resolve()
    caughtUp.then(
      () => {
        view.isFollowed = this.#state === 'open'
      },
      (error: unknown) => this.#warn(error),
    )
  }

  change(serverId: string): void {
    if (this.#host.view.get(serverId) === undefined) return
    this.#changed.add(serverId)
    this.#readAll().catch((error: unknown) => this.#warn(error))
  }

  [Symbol.dispose](): void {
    this.#state = 'over'
    this.#host.view.isFollowed = false
  }

  async #readAll(): Promise<void> {
    const { view } = this.#host
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#changed.size > 0) {
        const ids = [...this.#changed]
        this.#changed.clear()
        if (ids.length > READS_MAX) await view.refresh(this.#signal)
        else await Promise.all(ids.map((id) => view.read(id, this.#signal)))
      }
    } finally {
      this.#isReading = false
    }
  }

  #warn(error: unknown): void {
    if (this.#signal.aborted) return
    this.#host.logger?.warn(errorFields(error), 'a change in the nested cloud is not seen')
  }
}
