import { randomUUID } from 'node:crypto'
import { parseTraceparent, rootTraceparent } from './trace/traceparent.ts'

/** The context of one unit of work in every process and level: its user, its request id, its deadline. */
export interface WorkContext {
  /** `req-<uuid>`, as OpenStack writes it. Its uuid is also the id of a trace that begins with it. */
  readonly requestId: string
  /** W3C trace context, version 00, with the span that this work is part of. */
  readonly traceparent: string
  /** Ids of the gateways this work came through, outermost first; a gateway that finds itself in it refuses. */
  readonly via: readonly string[]
}

const REQUEST_ID = /^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Accepts a caller's request id and trace only in their exact form; anything else gets fresh ones. The spans of a fresh
 * trace are recorded only with `isSampled`.
 */
export function workContext(given: {
  readonly requestId?: string | undefined
  readonly traceparent?: string | undefined
  readonly via?: readonly string[]
  readonly isSampled?: boolean
}): WorkContext {
  const requestId =
    given.requestId !== undefined && REQUEST_ID.test(given.requestId)
      ? given.requestId
      : `req-${randomUUID()}`
  const traceparent =
    parseTraceparent(given.traceparent) ??
    rootTraceparent(requestId.slice(4).replaceAll('-', ''), given.isSampled === true)
  return { requestId, traceparent, via: given.via ?? [] }
}
