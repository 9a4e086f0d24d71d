import type { EventSubject } from './event-subjects.ts'
import { eventTypesOf } from './event-types.ts'
import { type Addressed, messageId, type Notification, osloTime } from './notification.ts'
import { payloadOf } from './payloads.ts'

/**
 * The notifications of an event, in their order; none: Nova has none, or what it is about is not known any more. `api`:
 * the name of the gateway that sends them, as the publisher of what users and not hosts did.
 */
export function notificationsOf(subject: EventSubject, api: string): readonly Addressed[] {
  const { event, server, action } = subject
  const { vmState, taskState } = server?.server ?? {}
  const isSoft = vmState === 'soft-delete' || taskState === 'soft-deleting'
  return eventTypesOf(event, action?.action, isSoft).flatMap((type): readonly Addressed[] => {
    const payload = payloadOf(type.payload, subject)
    if (payload === undefined) return []
    const notification: Notification = {
      message_id: messageId(`${event.n} ${event.at.toISOString()} ${type.name}`),
      publisher_id: publisherOf(subject, api),
      event_type: type.name,
      priority: type.isError === true ? 'ERROR' : 'INFO',
      payload,
      timestamp: osloTime(event.at),
    }
    return [{ cell: event.cellName, notification }]
  })
}

function publisherOf({ event, server }: EventSubject, api: string): string {
  const { type, details } = event
  if (type === 'server.action' || details.resource !== undefined) return `nova-api:${api}`
  const host = details.host ?? (type === 'server.step' ? undefined : server?.server.host)
  return host ? `nova-compute:${host}` : `nova-conductor:${api}`
}
