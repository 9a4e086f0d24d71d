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

const OF_VOLUME = 'VOLUME'
const OF_SNAPSHOT = 'VOLUME_SNAPSHOT'

/**
 * What of the accepted work on volumes may fail: Cinder's numbers of what was being done and of what happened
 * (cinder/message/message_field.py), and both in words. The reason is for operators, for it may name stores and hosts.
 */
const FAILURES = {
  placing: [OF_VOLUME, '001', '003', 'No cell has a store that can take the volume.'],
  uploading: [OF_VOLUME, '003', '004', 'The content of the volume did not become an image.'],
  extending: [OF_VOLUME, '007', '010', 'The store could not make the volume larger.'],
  creating: [OF_VOLUME, '008', '012', 'The store could not make the volume.'],
  reimaging: [
    OF_VOLUME,
    '016',
    '028',
    'The store could not give the volume the content of the image.',
  ],
  'creating-snapshot': [OF_SNAPSHOT, '009', '001', 'The store could not make the snapshot.'],
} as const
export type VolumeFailure = keyof typeof FAILURES

const TO_DO = 'Administrators see the reason.'

/** Whose work has failed, and on what. */
export interface FailedWork {
  readonly projectId: string
  /** Of the request that asked for it. */
  readonly requestId: string
  readonly resourceId: string
}

/** The work of a request on a volume or a snapshot. */
export function failedOn(
  { projectId, id: resourceId }: { readonly projectId: string; readonly id: string },
  { requestId }: { readonly requestId: string },
): FailedWork {
  return { projectId, requestId, resourceId }
}

/** Afterwards the project can read for 30 days that its work failed. */
export async function addFailureMessage(
  db: Executor,
  failure: VolumeFailure,
  work: FailedWork,
): Promise<VolumeMessage> {
  const [resourceType, action, detail, words] = FAILURES[failure]
  const createdAt = new Date()
  const added = {
    ...work,
    resourceType,
    text: `${words} ${TO_DO}`,
    id: newId<string>(),
    eventId: `VOLUME_${resourceType}_${action}_${detail}`,
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
  const filters = {
    ...{ request_id, resource_uuid },
    // Words in capitals. Cinder's database ignores case, and Horizon asks for the messages of a `volume`.
    event_id: event_id?.toUpperCase(),
    message_level: message_level?.toUpperCase(),
    resource_type: resource_type?.toUpperCase(),
  }
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
