import type { Requester } from '../../app/requester.ts'
import type { KeptEvent } from '../../db/events.ts'

/** An event as the federation API shows it; hosts and cells, and why a step failed there, are an operator's business. */
export function eventView(event: KeptEvent, { isAdmin }: Pick<Requester, 'isAdmin'>) {
  const { n, type, at, projectId, serverId, serverName, cellId, cellName, details } = event
  return {
    id: String(n),
    type,
    at: at.toISOString(),
    project_id: projectId,
    server_id: serverId,
    server_name: serverName,
    volume_id: event.volumeId ?? details.volumeId ?? null,
    volume_name: event.volumeName,
    snapshot_id: details.snapshotId ?? null,
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
    message: isAdmin ? (details.message ?? details.fault ?? null) : messageForProject(event),
  }
}

/** What happened on hosts is an operator's business. */
function messageForProject({ type, details }: KeptEvent): string | null {
  return type === 'server.step' ? null : (details.message ?? null)
}

/** An event as the members of its project see it. */
export function eventForProject(event: KeptEvent) {
  return eventView(event, { isAdmin: false })
}
