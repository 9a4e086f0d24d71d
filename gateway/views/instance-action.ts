import { isAllowed } from '../app/policy.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { RecordedAction, RecordedEvent } from '../db/server-action-list.ts'
import { hostIdOf } from './host-id.ts'
import { isSince } from './since.ts'
import { plainTime } from './time.ts'

export function instanceActionView(recorded: RecordedAction) {
  return {
    action: recorded.action,
    instance_uuid: recorded.serverId,
    request_id: recorded.requestId,
    project_id: recorded.projectId,
    user_id: recorded.userId,
    message: recorded.message,
    start_time: plainTime(recorded.startedAt),
    updated_at: plainTime(recorded.updatedAt),
  }
}

/** An action with its steps, which until microversion 2.50 only administrators see. */
export function instanceActionDetail(
  action: RecordedAction,
  events: readonly RecordedEvent[],
  context: RequestContext,
) {
  const showsAll = isAllowed(context, 'os_compute_api:os-instance-actions:events')
  const showsEvents = showsAll || isSince(context, '2.51')
  return {
    ...instanceActionView(action),
    ...(showsEvents && {
      events: events.map((event) => eventView(event, action.projectId, context)),
    }),
  }
}

function eventView(event: RecordedEvent, projectId: string, context: RequestContext) {
  const showsAll = isAllowed(context, 'os_compute_api:os-instance-actions:events')
  const showsDetails = isAllowed(context, 'os_compute_api:os-instance-actions:events:details')
  return {
    event: event.event,
    start_time: plainTime(event.startedAt),
    finish_time: event.finishedAt && plainTime(event.finishedAt),
    result: event.result,
    hostId: hostIdOf(projectId, event.host),
    // Nothing here writes tracebacks for clients; what went wrong is in the details.
    ...(showsAll && { traceback: null }),
    ...(showsAll && event.host !== null && { host: event.host }),
    ...(showsDetails && { details: event.details }),
  }
}
