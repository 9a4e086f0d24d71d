import { randomUUID } from 'node:crypto'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { type WorkContext, workContext } from '../context.ts'
import { FIRST_GENERATION } from './site-generation.ts'

const REQUEST_ID = 'X-Openstack-Request-Id'
const TRACEPARENT = 'traceparent'
const VIA = 'Weir-Via'
const SENDER = 'Weir-Sender'
const SENT = 'Weir-Sent'
const TIMEOUT = 'Weir-Timeout'
const GENERATION = 'Weir-Site-Generation'

/** This process, since whose start it counts the time it sends at. */
const OWN_ID = randomUUID()

/**
 * The headers beside every payload: the user, the trace, the gateways it came through, when it was sent, and how long
 * an answer is wanted; of a gateway also the generation of its site.
 */
export function workHeaders(work: WorkContext, timeoutMs: number, generation?: number): MsgHdrs {
  const hdrs = headers()
  hdrs.set(REQUEST_ID, work.requestId)
  hdrs.set(TRACEPARENT, work.traceparent)
  hdrs.set(SENDER, OWN_ID)
  hdrs.set(SENT, String(performance.now()))
  hdrs.set(TIMEOUT, String(timeoutMs))
  if (generation !== undefined) hdrs.set(GENERATION, String(generation))
  if (work.via.length > 0) hdrs.set(VIA, work.via.join(','))
  return hdrs
}

/** The work to which a message belongs, by its headers. */
export function workOf(hdrs: MsgHdrs | undefined): WorkContext {
  const via = hdrs?.get(VIA) ?? ''
  return workContext({
    requestId: hdrs?.get(REQUEST_ID),
    traceparent: hdrs?.get(TRACEPARENT),
    via: via === '' ? [] : via.split(','),
  })
}

/** Until when an answer is wanted, in milliseconds; `sentAt` counts from a moment that only the sender knows. */
export interface Deadline {
  readonly sender: string
  readonly sentAt: number
  readonly timeoutMs: number
}

/** Undefined when the sender does not say how long it waits. */
export function deadlineOf(hdrs: MsgHdrs | undefined): Deadline | undefined {
  const sender = hdrs?.get(SENDER) ?? ''
  const sentAt = Number(hdrs?.get(SENT) || Number.NaN)
  const timeoutMs = Number(hdrs?.get(TIMEOUT) || Number.NaN)
  const isStated = Number.isFinite(sentAt) && Number.isFinite(timeoutMs)
  return isStated ? { sender, sentAt, timeoutMs } : undefined
}

/** Of the site whose gateway sent the message; that of the first for a sender that names none. */
export function siteGenerationOf(hdrs: MsgHdrs | undefined): number {
  const generation = Number(hdrs?.get(GENERATION) || FIRST_GENERATION)
  return Number.isSafeInteger(generation) ? generation : FIRST_GENERATION
}
