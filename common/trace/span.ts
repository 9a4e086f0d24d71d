import type { WorkContext } from '../context.ts'
import { isFailure } from '../errors.ts'
import { type Measure, measure } from '../metrics/measure.ts'
import { childTraceparent, isSampled, spanIdOf } from './traceparent.ts'

/** `server`: answers a request; `client`: makes one. */
export type SpanKind = 'internal' | 'server' | 'client'
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanStart {
  /** One of few, such as a method and its route: never with an id. */
  readonly name: string
  readonly kind: SpanKind
  readonly attributes?: Attributes
}

/** A piece of work that is over. */
export interface EndedSpan extends SpanStart {
  /** With the ids of the trace and of the span itself. */
  readonly traceparent: string
  /** Undefined: it is the first of its trace. */
  readonly parentId: string | undefined
  /** By `performance.now()`. */
  readonly startedAt: number
  readonly endedAt: number
  /** What to show of its failure; undefined: it did not fail. */
  readonly error: string | undefined
}

/** A piece of work at its beginning. */
export interface Span {
  /** Of whatever is done within it. */
  readonly work: WorkContext
  /** Afterwards the span is on its way to those who record spans; with an error, as failed. */
  end(error?: unknown, attributes?: Attributes): void
}

/** Spans of this process, on their way to those who record them. */
export const spanMeasure: Measure<EndedSpan> = measure('span')

/** False if no spans are recorded, or none of this work. Callers then need not make any. */
export function isTraced({ traceparent }: WorkContext): boolean {
  return spanMeasure.isOn && isSampled(traceparent)
}

/** Begins a span within this work, which must be traced. */
export function beginSpan(within: WorkContext, start: SpanStart): Span {
  const startedAt = performance.now()
  const { requestId, via } = within
  const traceparent = childTraceparent(within.traceparent)
  const parentId = spanIdOf(within.traceparent)
  return {
    work: { requestId, traceparent, via },
    end: (error, attributes) => {
      const failure = error === undefined ? undefined : { 'error.type': errorType(error) }
      spanMeasure.report({
        ...start,
        attributes: { ...start.attributes, ...failure, ...attributes },
        traceparent,
        parentId,
        startedAt,
        endedAt: performance.now(),
        error: error === undefined ? undefined : errorText(error),
      })
    },
  }
}

/** Runs `run` in a span within the work where that is traced, else just so. Throws what `run` throws. */
export async function withinSpan<T>(
  within: WorkContext,
  start: SpanStart,
  run: (work: WorkContext) => Promise<T>,
): Promise<T> {
  if (!isTraced(within)) return run(within)
  const span = beginSpan(within, start)
  try {
    const value = await run(span.work)
    span.end()
    return value
  } catch (error) {
    span.end(error)
    throw error
  }
}

function errorType(error: unknown): string {
  if (isFailure(error)) return error.kind
  return error instanceof Error ? error.name : 'internal'
}

/** Of other errors no message: it may name what only logs may hold. */
function errorText(error: unknown): string {
  return isFailure(error) ? error.message : 'Unexpected error.'
}
