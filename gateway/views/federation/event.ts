import type { Requester } from '../../app/requester.ts'
import type { KeptEvent } from '../../db/events.ts'

/** An event as the federation API shows it; hosts and cells, and why a step failed there, are an operator's business. */
export function eventView(
  { n, type, at, projectId, serverId, serverName, cellId, cellName, details }: KeptEvent,
  { isAdmin }: Pick<Requester, 'isAdmin'>,
) {
  return {
    id: String(n),
    type,
    at: at.toISOString(),
    project_id: projectId,
    server_id: serverId,
    server_name: serverName,
    cell_id: isAdmin ? cellId : null,
    cell: isAdmin ? cellName : null,
    host: isAdmin ? (details.host ?? null) : null,
    request_id: details.requestId ?? null,
    user_id: details.userId ?? null,
    action: details.action ?? null,
    result: details.result ?? null,
    state: details.state ?? null,
    task_state: details.taskState ?? null,
    power_state: details.powerState ?? null,
    message: type === 'server.step' && !isAdmin ? null : (details.message ?? null),
  }
}

/** An event as the members of its project see it. */
export function eventForProject(event: KeptEvent) {
  return eventView(event, { isAdmin: false })
}
