import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { childTraceparent, type WorkContext, workContext } from '../context.ts'

const REQUEST_ID = 'X-Openstack-Request-Id'
const TRACEPARENT = 'traceparent'
const VIA = 'Weir-Via'
const DEADLINE = 'Weir-Deadline'

/** What travels beside every payload: who asked, in which trace, through whom, and until when it is wanted. */
export function workHeaders(work: WorkContext, deadlineAt: number): MsgHdrs {
  const hdrs = headers()
  hdrs.set(REQUEST_ID, work.requestId)
  hdrs.set(TRACEPARENT, childTraceparent(work.traceparent))
  hdrs.set(DEADLINE, String(deadlineAt))
  if (work.via.length > 0) hdrs.set(VIA, work.via.join(','))
  return hdrs
}

export function workOf(hdrs: MsgHdrs | undefined): WorkContext {
  const via = hdrs?.get(VIA) ?? ''
  return workContext({
    requestId: hdrs?.get(REQUEST_ID),
    traceparent: hdrs?.get(TRACEPARENT),
    via: via === '' ? [] : via.split(','),
  })
}

/** Milliseconds since the epoch; undefined when the sender set none. */
export function deadlineOf(hdrs: MsgHdrs | undefined): number | undefined {
  const deadline = Number(hdrs?.get(DEADLINE) || Number.NaN)
  return Number.isFinite(deadline) ? deadline : undefined
}
