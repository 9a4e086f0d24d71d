import type { SpanKind, SpanStart } from '../trace/span.ts'
import { operationOf } from './operation-of.ts'

/** The span of a request over the bus, on the side that asks or that answers. */
export function busSpan(kind: SpanKind, subject: string): SpanStart {
  const operation = operationOf(subject)
  return {
    name: operation,
    kind,
    attributes: { 'rpc.system.name': 'nats', 'rpc.method': operation },
  }
}
