import { type Clock, WOKEN } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { readEventState } from '../../db/events.ts'

/** For what other gateways have numbered. */
const POLL_MS = 100

export interface EventTailOptions {
  readonly db: Executor
  readonly clock: Clock
  readonly log: Logger
  /** How many may watch at a time; each costs a query whenever something happens. */
  readonly watchersMax: number
  /** Of these, how many one project may have. */
  readonly projectWatchersMax: number
}

/** Notifies watchers of new events: one query serves all watchers, and none is made while there are no watchers. */
export class EventTail implements AsyncDisposable {
  readonly #options: EventTailOptions
  readonly #watchers = new Set<Watcher>()
  #loop: Promise<void> | undefined
  #isClosed = false
  #pause = new AbortController()

  constructor(options: EventTailOptions) {
    this.#options = options
  }

  /**
   * Watches until `signal` aborts. Throws `unavailable` when too many do, and `over-quota` when too many of the project
   * (or of the user, where a token is for no project) do.
   */
  watch(project: string, signal: AbortSignal): Watcher {
    const { watchersMax, projectWatchersMax } = this.#options
    if (this.#isClosed || this.#watchers.size >= watchersMax)
      throw new Failure(
        'unavailable',
        'Too many event streams are open at this gateway. Please try again later.',
      )
    if ([...this.#watchers].filter((each) => each.project === project).length >= projectWatchersMax)
      throw new Failure(
        'over-quota',
        `The project has ${projectWatchersMax} event streams open at this gateway: close one first.`,
      )
    const watcher = new Watcher(project, signal, (left) => this.#watchers.delete(left))
    if (watcher.isEnded) return watcher
    this.#watchers.add(watcher)
    this.#loop ??= this.#run()
    return watcher
  }

  /** There are new events: they are looked at now. */
  wake(): void {
    this.#pause.abort(WOKEN)
  }

  /** Afterwards there are no watchers, and no new one is taken. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const watcher of this.#watchers) watcher.end()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { db, clock, log } = this.#options
    while (this.#watchers.size > 0) {
      // Set before the query: events announced during it are queried again.
      this.#pause = new AbortController()
      try {
        const { last } = await readEventState(db)
        for (const watcher of this.#watchers) watcher.notify(last)
      } catch (error) {
        log.warn(errorFields(error), 'events not looked at')
      }
      await clock.sleep(POLL_MS, this.#pause.signal).catch(() => {})
    }
    // This is the turn of the event loop in which the last watcher left: the next watcher begins a new tail.
    this.#loop = undefined
  }
}

/** One who watches. */
export class Watcher {
  readonly project: string
  readonly #left: (watcher: Watcher) => void
  #last = 0
  #isEnded = false
  #wake: () => void = () => {}

  constructor(project: string, signal: AbortSignal, left: (watcher: Watcher) => void) {
    this.project = project
    this.#left = left
    signal.addEventListener('abort', () => this.end(), { once: true })
    if (signal.aborted) this.end()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  notify(last: number): void {
    if (last === this.#last) return
    this.#last = last
    this.#wake()
  }

  end(): void {
    this.#isEnded = true
    this.#left(this)
    this.#wake()
  }

  /** Resolves once there are events after a number, `until` has aborted, or the watch has ended. */
  async beyond(n: number, until: AbortSignal): Promise<void> {
    until.addEventListener('abort', () => this.#wake(), { once: true })
    while (!this.#isEnded && this.#last <= n && !until.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }
}
