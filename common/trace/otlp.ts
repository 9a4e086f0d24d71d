import type { Attributes, EndedSpan, SpanKind } from './span.ts'
import { spanIdOf, traceIdOf } from './traceparent.ts'

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 }
const STATUS_ERROR = 2
/** Of a name, and of a text in an attribute. */
const TEXT_MAX = 256

/** The body of a request of OTLP/HTTP with these spans; `originMs` is the time of day at which `performance.now()` was 0. */
export function otlpBody(
  spans: readonly EndedSpan[],
  {
    resource,
    release,
    originMs,
  }: {
    readonly resource: Attributes
    readonly release: string
    readonly originMs: number
  },
): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [
          {
            scope: { name: 'weir', version: release },
            spans: spans.map((span) => otlpSpan(span, originMs)),
          },
        ],
      },
    ],
  })
}

function otlpSpan(span: EndedSpan, originMs: number) {
  const { traceparent, parentId, name, kind, startedAt, endedAt, attributes = {}, error } = span
  return {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name: name.slice(0, TEXT_MAX),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(originMs + startedAt),
    endTimeUnixNano: nanoseconds(originMs + endedAt),
    attributes: attributesOf(attributes),
    ...(error !== undefined && {
      status: { code: STATUS_ERROR, message: error.slice(0, TEXT_MAX) },
    }),
  }
}

/** A number cannot hold so many digits. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: valueOf(value) }],
  )
}

function valueOf(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value.slice(0, TEXT_MAX) }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
