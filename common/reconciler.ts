import { type Clock, untilTick, WOKEN } from './clock.ts'
import { isFailure } from './errors.ts'
import { errorFields, type Logger } from './log.ts'
import { secondsSince } from './metrics/measure.ts'
import { roundMeasure } from './metrics/measures.ts'

/**
 * Work that makes something true sooner or later. It takes no input, reads the whole intended state, may run at any
 * time and any number of times, and never retries inside: the next round is the retry.
 */
export interface Reconciler {
  readonly name: string
  /** What metrics count it as, where there is one for each of many objects; absent: its name. */
  readonly kind?: string
  readonly everyMs: number
  /** One round. Returns what it found and did, for the status shown to operators. */
  round(signal: AbortSignal): Promise<ReconcilerReport>
}

export type ReconcilerReport = Readonly<Record<string, number>>

export interface ReconcilerStatus {
  readonly name: string
  readonly rounds: number
  readonly failures: number
  readonly lastEndedAt: number | undefined
  readonly lastReport: ReconcilerReport | undefined
  readonly lastError: string | undefined
}

/** A failure that repeats is logged once in this time, with how often it came. */
const LOG_EVERY_MS = 30_000

export interface RowOptions<Row> {
  readonly log: Logger
  readonly signal?: AbortSignal
  /** The name of a row in the log; absent: all its properties. */
  readonly nameOf?: (row: Row) => string
  /** The most rows at a time; absent: one. */
  readonly parallel?: number | undefined
}

/**
 * Does `work` for the rows in their order, some at a time. A row at which it fails is logged, is left for the next round, and
 * does not hold up the others. Throws `unavailable`, which would happen to all rows, once no row is being worked on. Returns
 * how many are left.
 */
export async function forEachRow<Row>(
  rows: readonly Row[],
  { log, signal, nameOf, parallel = 1 }: RowOptions<Row>,
  work: (row: Row) => Promise<unknown>,
): Promise<number> {
  let next = 0
  let left = 0
  const worker = async () => {
    while (next < rows.length) {
      signal?.throwIfAborted()
      const row = rows[next] as Row
      next += 1
      try {
        await work(row)
      } catch (error) {
        if (signal?.aborted === true || isFailure(error, 'unavailable')) {
          next = rows.length
          throw error
        }
        left += 1
        const named = { row: nameOf?.(row) ?? row, ...errorFields(error) }
        log.error(named, 'row left for the next round')
      }
    }
  }
  const ended = await Promise.allSettled(
    Array.from({ length: Math.min(parallel, rows.length) }, worker),
  )
  for (const each of ended) if (each.status === 'rejected') throw each.reason
  return left
}

/** Runs one reconciler: periodically and when woken, one round at a time, until disposed. */
export class RunningReconciler implements AsyncDisposable {
  readonly #reconciler: Reconciler
  readonly #clock: Clock
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>
  #wake: () => void = () => {}
  #isWoken = false
  #rounds = 0
  #failures = 0
  /** The failure that was logged last, until a round succeeds. */
  #logged: { readonly error: unknown; readonly at: number; readonly failures: number } | undefined
  #last: Pick<ReconcilerStatus, 'lastEndedAt' | 'lastReport' | 'lastError'> = {
    lastEndedAt: undefined,
    lastReport: undefined,
    lastError: undefined,
  }

  constructor(reconciler: Reconciler, clock: Clock, log: Logger) {
    this.#reconciler = reconciler
    this.#clock = clock
    this.#log = log
    this.#loop = this.#run()
  }

  /** Makes a round begin as soon as the present one, if any, is over. */
  wake(): void {
    this.#isWoken = true
    this.#wake()
  }

  status(): ReconcilerStatus {
    return {
      name: this.#reconciler.name,
      rounds: this.#rounds,
      failures: this.#failures,
      ...this.#last,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#wake()
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#isWoken = false
      await this.#round()
      await this.#pause()
    }
  }

  async #round(): Promise<void> {
    this.#rounds += 1
    const startedAt = performance.now()
    const end = (isFailed: boolean) =>
      roundMeasure.report({
        reconciler: this.#reconciler.kind ?? this.#reconciler.name,
        isFailed,
        seconds: secondsSince(startedAt),
      })
    try {
      const lastReport = await this.#reconciler.round(this.#stop.signal)
      this.#last = { lastEndedAt: this.#clock.now(), lastReport, lastError: undefined }
      this.#logRecovery()
      end(false)
    } catch (error) {
      if (this.#stop.signal.aborted) return
      this.#failures += 1
      const fields = errorFields(error)
      this.#last = {
        ...this.#last,
        lastEndedAt: this.#clock.now(),
        lastError: String(fields['error']),
      }
      this.#logFailure(fields)
      end(true)
    }
  }

  #logFailure(fields: Readonly<Record<string, unknown>>): void {
    const at = this.#clock.elapsed()
    const { error } = fields
    const logged = this.#logged
    if (logged !== undefined && logged.error === error && at - logged.at < LOG_EVERY_MS) return
    const repeats = this.#failures - (logged?.failures ?? this.#failures - 1)
    this.#logged = { error, at, failures: this.#failures }
    const { name: reconciler } = this.#reconciler
    this.#log.warn({ reconciler, ...fields, repeats }, 'reconciler round failed')
  }

  #logRecovery(): void {
    if (this.#logged === undefined) return
    this.#logged = undefined
    this.#log.info({ reconciler: this.#reconciler.name }, 'reconciler works again')
  }

  async #pause(): Promise<void> {
    if (this.#isWoken || this.#stop.signal.aborted) return
    const timeout = new AbortController()
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    const pauseMs = untilTick(this.#clock, this.#reconciler.everyMs)
    const slept = this.#clock.sleep(pauseMs, timeout.signal).catch(() => {})
    await Promise.race([woken, slept])
    timeout.abort(WOKEN)
  }
}
