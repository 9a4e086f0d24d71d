import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, type TSchema, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { Texts } from '#openapi/wire/scalars.ts'
import type { VolumeRef } from '../../volumes.ts'
import type { Cloud, CloudRequest } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import type { NestedHost } from '../host.ts'
import { volumeName } from '../names.ts'

export const GIB = 2 ** 30

/** Metadata by which a volume below is known as ours. It is stored there, so it never changes. */
const CELL_KEY = 'weir_cell'
const STORE_KEY = 'weir_store'
/** The id here of a volume, or of a snapshot. */
const ID_KEY = 'weir_id'
/** It was made whole once: an error since then is none of its making, and it may hold data. */
const WHOLE_KEY = 'weir_whole'

/** Of a volume as the cloud shows it, what the driver reads. */
export const CloudVolume = Type.Object({
  id: Id,
  status: Type.String(),
  /** GiB. */
  size: Type.Number(),
  metadata: Texts,
  created_at: Type.String(),
  bootable: Type.String(),
  multiattach: Type.Boolean(),
  attachments: Type.Array(Type.Object({ server_id: Type.String() })),
  /** Absent: it was made from no image. */
  volume_image_metadata: Type.Optional(Texts),
})
export type CloudVolume = Static<typeof CloudVolume>
export const ShownVolume = Type.Object({ volume: CloudVolume })

/** The same of a snapshot. */
export const CloudSnapshot = Type.Object({
  id: Id,
  status: Type.String(),
  /** GiB. */
  size: Type.Number(),
  volume_id: Id,
  metadata: Texts,
  created_at: Type.String(),
})
export type CloudSnapshot = Static<typeof CloudSnapshot>
export const ShownSnapshot = Type.Object({ snapshot: CloudSnapshot })

const LISTS = {
  volumes: Type.Object({ volumes: Type.Array(CloudVolume) }),
  snapshots: Type.Object({ snapshots: Type.Array(CloudSnapshot) }),
} as const
type Listed = { readonly volumes: CloudVolume; readonly snapshots: CloudSnapshot }

const PAGE_SIZE = 1_000
const PAGES_MAX = 100

/** While the cloud shows one of these it is at work on a volume or snapshot, and takes no other request for it. */
const BUSY: ReadonlySet<string> = new Set([
  'attaching',
  'backing-up',
  'creating',
  'deleting',
  'detaching',
  'downloading',
  'extending',
  'maintenance',
  'restoring-backup',
  'retyping',
  'reverting',
  'uploading',
])

export function isBusy({ status }: Pick<CloudVolume, 'status'>): boolean {
  return BUSY.has(status)
}

/** The marks of a new volume. */
export function volumeMarks({ owner }: Pick<NestedHost, 'owner'>, { store, id }: VolumeRef) {
  return { [CELL_KEY]: owner.cellId, [STORE_KEY]: store, [ID_KEY]: id }
}

/** The marks of a new snapshot. */
export function snapshotMarks({ owner }: Pick<NestedHost, 'owner'>, id: VolumeSnapshotId) {
  return { [CELL_KEY]: owner.cellId, [ID_KEY]: id }
}

type Marked = Pick<CloudVolume, 'metadata'>

export function isOurs({ owner }: Pick<NestedHost, 'owner'>, { metadata }: Marked): boolean {
  return metadata[CELL_KEY] === owner.cellId
}

export function isWhole({ metadata }: Marked): boolean {
  return WHOLE_KEY in metadata
}

export function isInStore({ metadata }: Marked, store: string): boolean {
  return metadata[STORE_KEY] === store
}

/** Our id of a volume or snapshot; undefined for one whose mark cannot be read. */
export function ourId<T extends string>({ metadata }: Marked): T | undefined {
  const id = metadata[ID_KEY]
  return id !== undefined && isUuid(id) ? (id as T) : undefined
}

/** Everything of the kind in the project that the query names, the oldest first. */
export async function listAll<K extends keyof Listed>(
  cloud: Cloud,
  kind: K,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly Listed[K][]> {
  const all: Listed[K][] = []
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const last = all.at(-1)
    const asked = { ...query, limit: String(PAGE_SIZE), ...(last && { marker: last.id }) }
    const path = `/${kind}/detail`
    const { body } = await cloud.ask(LISTS[kind] as TSchema, 'volume', 'GET', path, {
      query: asked,
      signal,
    })
    const items = (body as Readonly<Record<K, readonly Listed[K][]>>)[kind]
    all.push(...items)
    if (items.length === 0 || items.length % PAGE_SIZE !== 0)
      return all.toSorted((a, b) => a.created_at.localeCompare(b.created_at))
  }
  throw new Failure('unavailable', `The list of ${kind} of the nested cloud does not end.`)
}

/** What was made below for a volume of ours, whole or not: more than one only after an answer was lost. */
export async function volumesOf(
  host: NestedHost,
  id: VolumeId,
  signal: AbortSignal,
): Promise<readonly CloudVolume[]> {
  const named = await listAll(host.cloud, 'volumes', { name: volumeName(id) }, signal)
  return named.filter((volume) => isOurs(host, volume) && ourId(volume) === id)
}

/** The volume, at rest. Throws `not-found` where the store has no whole one. */
export async function getVolume(
  host: NestedHost,
  { store, id }: VolumeRef,
  signal: AbortSignal,
): Promise<CloudVolume> {
  const found = (await volumesOf(host, id, signal)).find(
    (volume) => isWhole(volume) && isInStore(volume, store),
  )
  const rested = found && (await untilRest(host, 'volumes', found, signal))
  if (rested !== undefined) return rested
  throw new Failure('not-found', `Volume ${id} could not be found in its store.`)
}

/** The snapshots that were made below for one of ours. */
export async function snapshotsOf(
  host: NestedHost,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<readonly CloudSnapshot[]> {
  const named = await listAll(host.cloud, 'snapshots', { name: volumeName(id) }, signal)
  return named.filter((snapshot) => isOurs(host, snapshot) && ourId(snapshot) === id)
}

/** The snapshot of this volume. Throws `not-found`. */
export async function getSnapshot(
  host: NestedHost,
  volume: CloudVolume,
  id: VolumeSnapshotId,
  signal: AbortSignal,
): Promise<CloudSnapshot> {
  const found = (await snapshotsOf(host, id, signal)).find(
    ({ volume_id, status }) => volume_id === volume.id && status === 'available',
  )
  if (found !== undefined) return found
  throw new Failure('not-found', `Snapshot ${id} could not be found in its store.`)
}

/** As it is now; undefined when the cloud itself says that there is none. */
export async function showOne<K extends keyof Listed>(
  cloud: Cloud,
  kind: K,
  id: string,
  signal: AbortSignal,
): Promise<Listed[K] | undefined> {
  try {
    const path = `/${kind}/${id}`
    if (kind === 'volumes')
      return (await cloud.ask(ShownVolume, 'volume', 'GET', path, { signal })).body
        .volume as Listed[K]
    return (await cloud.ask(ShownSnapshot, 'volume', 'GET', path, { signal })).body
      .snapshot as Listed[K]
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

/** Resolves once the cloud is not at work on it; undefined once it is gone. */
export async function untilRest<K extends keyof Listed>(
  { cloud, settings }: Pick<NestedHost, 'cloud' | 'settings'>,
  kind: K,
  before: Listed[K],
  signal: AbortSignal,
): Promise<Listed[K] | undefined> {
  let seen: Listed[K] | undefined = before
  while (seen !== undefined && isBusy(seen)) {
    await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    seen = await showOne(cloud, kind, before.id, signal)
  }
  return seen
}

/** The volume as it is once the action, and what it began, is over. Throws `not-found` when it is gone then. */
export async function actOnVolume(
  host: NestedHost,
  { id }: CloudVolume,
  body: object,
  { microversion, signal }: Pick<CloudRequest, 'microversion' | 'signal'>,
): Promise<CloudVolume> {
  const { cloud } = host
  await cloud.call('volume', 'POST', `/volumes/${id}/action`, { body, microversion, signal })
  const shown = await showOne(cloud, 'volumes', id, signal)
  const rested = shown && (await untilRest(host, 'volumes', shown, signal))
  if (rested !== undefined) return rested
  throw new Failure('not-found', 'The volume no longer exists in the nested cloud.')
}

/** Afterwards it is known that the volume was made whole. */
export async function markWhole({ cloud }: NestedHost, { id }: CloudVolume, signal: AbortSignal) {
  await setMetadata(cloud, id, { [WHOLE_KEY]: 'true' }, signal)
}

/** Afterwards the volume has this metadata besides its other. */
export async function setMetadata(
  cloud: Cloud,
  id: string,
  metadata: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  await cloud.call('volume', 'POST', `/volumes/${id}/metadata`, { body: { metadata }, signal })
}

const Messages = Type.Object({
  messages: Type.Array(Type.Object({ user_message: Type.String() })),
})
/** Messages can be asked for by what they are about since then. */
const MESSAGES_SINCE = '3.5'

/** A failure of the cloud's work on a volume or snapshot, with what the cloud tells its user of it. */
export async function workFailure(
  { cloud }: Pick<NestedHost, 'cloud'>,
  what: string,
  { id, status }: Pick<CloudVolume, 'id' | 'status'>,
  signal: AbortSignal,
): Promise<Failure> {
  const query = { resource_uuid: id, sort: 'created_at:desc' }
  const asked = { query, microversion: MESSAGES_SINCE, signal }
  const told = await cloud
    .ask(Messages, 'volume', 'GET', '/messages', asked)
    .catch((error: unknown) => {
      // A cloud without messages; or it is silent, which the caller's next request shows.
      if (!isFailure(error)) throw error
      return undefined
    })
  const message = told?.body.messages[0]?.user_message
  const isFull = /weighted backend|no (valid )?(host|store)|capacity|space|room|quota/i
  const kind = message !== undefined && isFull.test(message) ? 'no-capacity' : 'internal'
  return new Failure(kind, `The nested cloud could not ${what}.`, {
    detail: message ?? `it is ${status} there`,
  })
}
