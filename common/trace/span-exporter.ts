import { Agent, request } from 'undici'
import { type Clock, WOKEN } from '../clock.ts'
import { errorChain } from '../errors.ts'
import type { Logger } from '../log.ts'
import { type SpansEnd, spansMeasure } from '../metrics/measures.ts'
import { settledWithin } from '../settled-within.ts'
import { otlpBody } from './otlp.ts'
import type { TraceExportSettings } from './settings.ts'
import type { Attributes, EndedSpan } from './span.ts'

export interface SpanExporterOptions {
  readonly settings: TraceExportSettings
  /** What the spans are of. */
  readonly resource: Attributes
  readonly release: string
  readonly clock: Clock
  readonly log: Logger
}

/** Pauses before a batch is sent again. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000]
const RETRY_AFTER_MAX_MS = 30_000
/** At its end a program sends once what it has, within this time. */
const LAST_MS = 2_000
/** Answers after which OTLP says to send again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * Sends spans in batches to a collector of OpenTelemetry, until disposed. No more than `queueMax` wait: what comes beyond,
 * and what the collector does not take, is dropped, counted and logged.
 */
export class SpanExporter implements AsyncDisposable {
  readonly #options: SpanExporterOptions
  readonly #agent: Agent
  readonly #stop = new AbortController()
  #queue: EndedSpan[] = []
  #sending: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** True from a failure that was logged until a batch is taken. */
  #isFailing = false

  constructor(options: SpanExporterOptions) {
    this.#options = options
    this.#agent = new Agent({ connections: 1 })
  }

  add(span: EndedSpan): void {
    const { queueMax, batchMax, delayMs } = this.#options.settings
    if (this.#queue.length >= queueMax) {
      count('queue-full', 1)
      return
    }
    this.#queue.push(span)
    if (this.#sending !== undefined) return
    if (this.#queue.length >= Math.min(batchMax, queueMax)) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), delayMs).unref()
  }

  /** Sends what it has, once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(WOKEN)
    if (this.#sending === undefined) this.#send()
    await settledWithin(this.#options.clock, LAST_MS, this.#sending ?? Promise.resolve())
    await this.#agent.destroy()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#queue.length === 0) return
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    const { batchMax } = this.#options.settings
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, batchMax)
      this.#queue = this.#queue.slice(batchMax)
      await this.#sendBatch(batch)
    }
  }

  async #sendBatch(batch: readonly EndedSpan[]): Promise<void> {
    const { clock, resource, release } = this.#options
    const body = otlpBody(batch, { resource, release, originMs: originOf(clock) })
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      const failure = await this.#post(body)
      if (failure === undefined) {
        this.#taken(batch.length)
        return
      }
      const isOver = pauseMs === undefined || !failure.mayRepeat || this.#stop.signal.aborted
      if (isOver) {
        this.#dropped(batch.length, failure.why)
        return
      }
      // Woken by the end of the program: it then sends once more.
      await clock.sleep(failure.retryAfterMs ?? pauseMs, this.#stop.signal).catch(() => undefined)
    }
  }

  /** Undefined once the collector has the spans. */
  async #post(body: string): Promise<Refusal | undefined> {
    const { url, headers, timeoutMs } = this.#options.settings
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(timeoutMs),
      })
      await answer.body.dump()
      const { statusCode: status } = answer
      if (status >= 200 && status <= 299) return undefined
      const retryAfterMs = retryAfter(answer.headers['retry-after'])
      return { why: `it answered ${status}`, mayRepeat: AGAIN.has(status), retryAfterMs }
    } catch (error) {
      return { why: errorChain(error), mayRepeat: true, retryAfterMs: undefined }
    }
  }

  #taken(spans: number): void {
    const { log, settings } = this.#options
    count('taken', spans)
    if (this.#isFailing) log.info({ url: settings.url }, 'spans are sent again')
    this.#isFailing = false
  }

  #dropped(spans: number, why: string): void {
    const { log, settings } = this.#options
    count('not-taken', spans)
    if (!this.#isFailing) log.warn({ url: settings.url, spans, why }, 'spans were dropped')
    this.#isFailing = true
  }
}

interface Refusal {
  readonly why: string
  readonly mayRepeat: boolean
  readonly retryAfterMs: number | undefined
}

/** Undefined where it is not a number of seconds. */
function retryAfter(header: string | string[] | undefined): number | undefined {
  const seconds = typeof header === 'string' && header !== '' ? Number(header) : Number.NaN
  return seconds >= 0 ? Math.min(1_000 * seconds, RETRY_AFTER_MAX_MS) : undefined
}

/** The time of day at which `elapsed` was 0: read again for each batch, because the clock may be set. */
function originOf(clock: Clock): number {
  return clock.now() - clock.elapsed()
}

function count(outcome: SpansEnd['outcome'], spans: number): void {
  spansMeasure.report({ outcome, spans })
}
