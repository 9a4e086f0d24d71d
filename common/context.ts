import { randomUUID } from 'node:crypto'

/** The context of one unit of work in every process and level: its user, its request id, its deadline. */
export interface WorkContext {
  /** `req-<uuid>`, as OpenStack writes it. Its uuid is also the trace id. */
  readonly requestId: string
  /** W3C trace context, version 00. */
  readonly traceparent: string
  /** Ids of the gateways this work came through, outermost first; a gateway that finds itself in it refuses. */
  readonly via: readonly string[]
}

const REQUEST_ID = /^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Accepts a caller's request id and trace only in their exact form; anything else gets fresh ones. */
export function workContext(given: {
  readonly requestId?: string | undefined
  readonly traceparent?: string | undefined
  readonly via?: readonly string[]
}): WorkContext {
  const requestId =
    given.requestId !== undefined && REQUEST_ID.test(given.requestId)
      ? given.requestId
      : `req-${randomUUID()}`
  const traceparent =
    given.traceparent !== undefined && TRACEPARENT.test(given.traceparent)
      ? given.traceparent
      : `00-${requestId.slice(4).replaceAll('-', '')}-${spanId()}-01`
  return { requestId, traceparent, via: given.via ?? [] }
}

/** The same work seen from a new process or step: same trace, a span of its own. */
export function childTraceparent(traceparent: string): string {
  return `${traceparent.slice(0, 36)}${spanId()}-01`
}

/** Random digits of a UUID: Node keeps a supply of those, where `randomBytes` asks the system each time. */
function spanId(): string {
  const uuid = randomUUID()
  return uuid.slice(0, 8) + uuid.slice(24, 32)
}
