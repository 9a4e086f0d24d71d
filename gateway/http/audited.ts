import { isTraced } from '#common/trace/span.ts'
import { traceIdOf } from '#common/trace/traceparent.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { Endpoint, Exchange } from './endpoint.ts'
import { GIVEN_BACK } from './given-back.ts'

const TARGET_MAX = 255
/** Was not looked at, and would be as many records as a client that tries again at once can cause. */
const TOO_MANY = 429
/** Methods that change nothing. */
export const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Few changes, of who may do what and of the cloud itself: none is answered before it is on record, unless another gateway is to make it. */
const URGENT: ReadonlySet<string> = new Set(['federation', 'identity'])

/**
 * Records a request that was to change something, with its answer. Requests without a valid token have no user that
 * could be named: they change nothing except by a ticket that a named user was given.
 */
export async function audited(
  trail: AuditTrail,
  { service, method, route }: Endpoint,
  { c, work, caller, operation }: Exchange,
  status: number,
): Promise<void> {
  if (status === TOO_MANY || READING.has(method) || caller === undefined || caller.userId === '')
    return
  const { userId, userName, projectId } = caller
  const { requestId } = work
  const traceId = isTraced(work) ? traceIdOf(work.traceparent) : null
  const action = `${service.name}:${operation?.id ?? route}`
  const target = c.req.path.slice(0, TARGET_MAX)
  const who = { userId, userName, projectId }
  const record = { at: new Date(), ...who, action, target, status, requestId, traceId }
  await trail.record(record, URGENT.has(service.name) && status !== GIVEN_BACK)
}
