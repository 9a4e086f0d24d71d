import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import {
  deleteMessageRow,
  findMessage,
  insertMessage,
  listMessageRows,
  MESSAGE_SORT_KEYS,
  type MessageFilters,
  type VolumeMessage,
} from '../../db/volume-messages.ts'
import type { Requester } from '../requester.ts'
import { type SortQuery, sortOf } from './list-query.ts'

/** As long as Cinder keeps messages (`message_ttl`). */
const KEPT_MS = 30 * 24 * 3_600_000

/** What a user is to be told. */
export interface NewMessage {
  readonly projectId: string
  /** Of the request whose work failed. */
  readonly requestId: string
  readonly resourceType: 'VOLUME' | 'VOLUME_SNAPSHOT'
  readonly resourceId: string
  /** What was being done and what happened, by Cinder's numbers, such as `001` and `003`. */
  readonly action: string
  readonly detail: string
  /** The same for people. */
  readonly text: string
}

/** Afterwards the project can read the message for 30 days. */
export async function addMessage(
  db: Executor,
  { action, detail, ...message }: NewMessage,
): Promise<VolumeMessage> {
  const createdAt = new Date()
  const added = {
    ...message,
    id: newId<string>(),
    eventId: `VOLUME_${message.resourceType}_${action}_${detail}`,
    level: 'ERROR',
    createdAt,
    expiresAt: new Date(createdAt.getTime() + KEPT_MS),
  }
  await insertMessage(db, added)
  return added
}

export interface MessageListQuery extends SortQuery, Omit<MessageFilters, 'projectId'> {
  readonly marker?: string
  readonly offset?: number
}

/** One page of the project's messages. Throws `invalid` for an unknown order or marker. */
export function listMessages(
  db: Executor,
  { projectId }: Requester,
  query: MessageListQuery,
  limit: number,
): Promise<readonly VolumeMessage[]> {
  const { event_id, message_level, request_id, resource_type, resource_uuid } = query
  const filters = { event_id, message_level, request_id, resource_type, resource_uuid }
  const page = {
    sort: sortOf(query, MESSAGE_SORT_KEYS),
    marker: query.marker,
    limit,
    offset: query.offset ?? 0,
  }
  return listMessageRows(db, { ...filters, projectId: projectId ?? '' }, page)
}

/** The message; throws `not-found` when there is none or it is another project's, but for administrators. */
export async function showMessage(
  db: Executor,
  { projectId, isAdmin }: Requester,
  id: string,
): Promise<VolumeMessage> {
  const message = isUuid(id) ? await findMessage(db, id) : undefined
  if (message === undefined || (!isAdmin && message.projectId !== projectId))
    throw messageNotFound(id)
  return message
}

/** Afterwards there is no such message. Throws `not-found`. */
export async function deleteMessage(db: Executor, caller: Requester, id: string): Promise<void> {
  await showMessage(db, caller, id)
  if (!(await deleteMessageRow(db, id))) throw messageNotFound(id)
}

function messageNotFound(id: string): Failure {
  return new Failure('not-found', `Message ${id} could not be found.`)
}
