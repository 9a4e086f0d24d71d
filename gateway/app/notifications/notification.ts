import { createHash } from 'node:crypto'

/** An object of Nova's versioned notifications, as `obj_to_primitive` of oslo.versionedobjects writes it. */
export interface NovaObject {
  readonly 'nova_object.name': string
  readonly 'nova_object.namespace': 'nova'
  readonly 'nova_object.version': string
  readonly 'nova_object.data': Readonly<Record<string, unknown>>
}

/** The name and the version of a payload, without its data. */
export type PayloadType = readonly [name: string, version: string]

/** A versioned notification as Nova sends it (docs.openstack.org/nova: Notifications in Nova). */
export interface Notification {
  readonly message_id: string
  /** `SOURCE:HOST`. */
  readonly publisher_id: string
  readonly event_type: string
  readonly priority: 'INFO' | 'ERROR'
  readonly payload: NovaObject
  /** UTC, as oslo.messaging writes it. */
  readonly timestamp: string
}

/** A notification, and the name of the cell that it is about; null: no cell. */
export interface Addressed {
  readonly cell: string | null
  readonly notification: Notification
}

/** Where notifications go. */
export interface NotificationSink extends AsyncDisposable {
  /** Afterwards the notification is kept there. Sent again, it may be kept twice. Throws where it cannot tell. */
  send(addressed: Addressed): Promise<void>
}

export function novaObject(
  [name, version]: PayloadType,
  data: Readonly<Record<string, unknown>>,
): NovaObject {
  return {
    'nova_object.name': name,
    'nova_object.namespace': 'nova',
    'nova_object.version': version,
    'nova_object.data': data,
  }
}

/** The same UUID for the same text: a notification that is sent again is known by it. */
export function messageId(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 0b0011) | 0b1000).toString(16)
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`]
  return [...parts, `${variant}${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-')
}

/** `2026-11-21 10:00:00.000000`. */
export function osloTime(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '000')
}

/** `2026-11-21T10:00:00Z`, as versioned objects have times; null: none. */
export function novaTime(at: Date | null): string | null {
  return at === null ? null : `${at.toISOString().slice(0, 19)}Z`
}
