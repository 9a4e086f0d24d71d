import type { Clock } from '#common/clock.ts'
import { errorFields, type Logger } from '#common/log.ts'

const LOOK_MS = 250

export interface OperationWatchOptions {
  /** Those of these ids that have not ended. */
  readonly running: (ids: readonly string[]) => Promise<ReadonlySet<string>>
  readonly clock: Clock
  readonly log: Logger
}

/** Wakes those who wait for the end of operations: one look for all of them, and none for nobody. */
export class OperationWatch implements AsyncDisposable {
  readonly #options: OperationWatchOptions
  readonly #waiting = new Map<string, Set<() => void>>()
  #loop: Promise<void> | undefined
  #isClosed = false

  constructor(options: OperationWatchOptions) {
    this.#options = options
  }

  /** Resolves once the operation does not run, or `until` aborts. */
  async ended(id: string, until: AbortSignal): Promise<void> {
    if (this.#isClosed || until.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const sharing = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, sharing.add(resolve))
    until.addEventListener('abort', () => resolve(), { once: true })
    this.#loop ??= this.#run()
    await promise
    sharing.delete(resolve)
    if (sharing.size === 0 && this.#waiting.get(id) === sharing) this.#waiting.delete(id)
  }

  /** Afterwards nobody waits, and nobody begins to. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const id of this.#waiting.keys()) this.#wake(id)
    await this.#loop
  }

  async #run(): Promise<void> {
    const { running, clock, log } = this.#options
    while (this.#waiting.size > 0) {
      const asked = [...this.#waiting.keys()]
      try {
        const left = await running(asked)
        for (const id of asked.filter((each) => !left.has(each))) this.#wake(id)
      } catch (error) {
        log.warn(errorFields(error), 'operations not looked at')
      }
      await clock.sleep(LOOK_MS)
    }
    // In the same breath as nobody was seen to be left: whoever comes next begins anew.
    this.#loop = undefined
  }

  #wake(id: string): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve()
    this.#waiting.delete(id)
  }
}
