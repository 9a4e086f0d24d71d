import { and, eq, lt, type SQL } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { after, orderOf, type SortColumn } from './keyset.ts'
import { volumeMessages } from './schema/block-storage.ts'

/** What a user is told about work that failed after it was accepted. */
export interface VolumeMessage {
  readonly id: string
  readonly projectId: string
  /** Of the request whose work failed. */
  readonly requestId: string
  /** `VOLUME` or `VOLUME_SNAPSHOT`. */
  readonly resourceType: string
  readonly resourceId: string
  readonly eventId: string
  readonly text: string
  readonly level: string
  readonly createdAt: Date
  /** The message is kept until then. */
  readonly expiresAt: Date
}

const SORT_COLUMNS = {
  created_at: volumeMessages.createdAt,
  event_id: volumeMessages.eventId,
  id: volumeMessages.id,
  message_level: volumeMessages.level,
  request_id: volumeMessages.requestId,
  resource_type: volumeMessages.resourceType,
  resource_uuid: volumeMessages.resourceId,
} as const
export type MessageSortKey = keyof typeof SORT_COLUMNS

export const MESSAGE_SORT_KEYS = Object.keys(SORT_COLUMNS) as readonly MessageSortKey[]

export interface MessageFilters {
  readonly projectId: string
  readonly event_id?: string | undefined
  readonly message_level?: string | undefined
  readonly request_id?: string | undefined
  readonly resource_type?: string | undefined
  readonly resource_uuid?: string | undefined
}

export interface MessagePage {
  readonly sort: readonly { readonly key: MessageSortKey; readonly isDescending: boolean }[]
  /** The id of the message that the page starts after. */
  readonly marker: string | undefined
  readonly limit: number
  readonly offset: number
}

export async function insertMessage(db: Executor, message: VolumeMessage): Promise<void> {
  await db.orm.insert(volumeMessages).values(message)
}

export async function findMessage(db: Executor, id: string): Promise<VolumeMessage | undefined> {
  const rows = await db.orm.select().from(volumeMessages).where(eq(volumeMessages.id, id))
  return rows[0]
}

/** False when there was none. */
export async function deleteMessageRow(db: Executor, id: string): Promise<boolean> {
  const [result] = await db.orm.delete(volumeMessages).where(eq(volumeMessages.id, id))
  return result.affectedRows === 1
}

/** One page of messages. Throws `invalid` when the marker is not a message. */
export async function listMessageRows(
  db: Executor,
  filters: MessageFilters,
  { sort, marker, limit, offset }: MessagePage,
): Promise<readonly VolumeMessage[]> {
  const isDescending = sort.at(-1)?.isDescending ?? true
  const order: readonly SortColumn[] = [
    ...sort.map(({ key, ...direction }) => ({ column: SORT_COLUMNS[key], ...direction })),
    { column: volumeMessages.id, isDescending },
  ]
  const start =
    marker === undefined ? undefined : after(order, await markerValues(db, sort, marker))
  return db.orm
    .select()
    .from(volumeMessages)
    .where(and(isWanted(filters), start))
    .orderBy(...orderOf(order))
    .limit(limit)
    .offset(offset)
}

async function markerValues(
  db: Executor,
  sort: MessagePage['sort'],
  marker: string,
): Promise<readonly unknown[]> {
  const rows = await db.orm
    .select(SORT_COLUMNS)
    .from(volumeMessages)
    .where(eq(volumeMessages.id, marker))
  const row = rows[0]
  if (row === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return [...sort.map(({ key }) => row[key]), marker]
}

function isWanted({ projectId, ...named }: MessageFilters): SQL | undefined {
  const conditions = Object.entries(named).map(([name, value]) =>
    value === undefined ? undefined : eq(SORT_COLUMNS[name as MessageSortKey], value),
  )
  return and(eq(volumeMessages.projectId, projectId), ...conditions)
}

/** Removes up to `max` messages that are no longer kept. */
export async function purgeMessages(db: Executor, before: Date, max: number): Promise<number> {
  const [result] = await db.orm
    .delete(volumeMessages)
    .where(lt(volumeMessages.expiresAt, before))
    .limit(max)
  return result.affectedRows
}
