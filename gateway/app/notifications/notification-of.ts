import type { EventSubject } from './event-subjects.ts'
import { eventTypeOf } from './event-types.ts'
import { type Addressed, messageId, osloTime } from './notification.ts'
import { payloadOf } from './payloads.ts'

/**
 * The notification of an event; undefined: Nova has none, or what it is about is not known any more. `api`: the name of
 * the gateway that sends it, as the publisher of what users and not hosts did.
 */
export function notificationOf(subject: EventSubject, api: string): Addressed | undefined {
  const { event, server, action } = subject
  const { vmState, taskState } = server?.server ?? {}
  const isSoft = vmState === 'soft-delete' || taskState === 'soft-deleting'
  const type = eventTypeOf(event, action?.action, isSoft)
  const payload = type && payloadOf(type.payload, subject)
  if (type === undefined || payload === undefined) return undefined
  return {
    cell: event.cellName,
    notification: {
      message_id: messageId(`${event.n} ${event.at.toISOString()} ${type.name}`),
      publisher_id: publisherOf(subject, api),
      event_type: type.name,
      priority: type.isError === true ? 'ERROR' : 'INFO',
      payload,
      timestamp: osloTime(event.at),
    },
  }
}

function publisherOf({ event, server }: EventSubject, api: string): string {
  const { type, details } = event
  if (type === 'server.action') return `nova-api:${api}`
  const host = details.host ?? (type === 'server.step' ? undefined : server?.server.host)
  return host ? `nova-compute:${host}` : `nova-conductor:${api}`
}
