import { randomUUID } from 'node:crypto'

/** W3C trace context, version 00: trace, span, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const SPAN_AT = 36
const FLAGS_AT = 53
const SAMPLED = 1

/**
 * The traceparent with no flag but that of sampling, the only one whose meaning is known here; undefined for any text that
 * is none.
 */
export function parseTraceparent(text: string | undefined): string | undefined {
  if (text === undefined || !TRACEPARENT.test(text)) return undefined
  const isSampled = (Number.parseInt(text.slice(FLAGS_AT), 16) & SAMPLED) === SAMPLED
  return `${text.slice(0, FLAGS_AT)}${isSampled ? '01' : '00'}`
}

/** The first span of a trace. */
export function rootTraceparent(traceId: string, isSampled: boolean): string {
  return `00-${traceId}-${newSpanId()}-${isSampled ? '01' : '00'}`
}

/** Another span of the same trace, sampled as the former one is. */
export function childTraceparent(traceparent: string): string {
  return `${traceparent.slice(0, SPAN_AT)}${newSpanId()}${traceparent.slice(FLAGS_AT - 1)}`
}

/** Whether the spans of this trace are recorded. */
export function isSampled(traceparent: string): boolean {
  return traceparent.endsWith('1')
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, SPAN_AT - 1)
}

export function spanIdOf(traceparent: string): string {
  return traceparent.slice(SPAN_AT, FLAGS_AT - 1)
}

/** Random digits of a UUID: Node keeps a supply of those, where `randomBytes` asks the system each time. */
function newSpanId(): string {
  const uuid = randomUUID()
  return uuid.slice(0, 8) + uuid.slice(24, 32)
}
