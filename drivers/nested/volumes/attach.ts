import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { AttachmentId, InstanceId } from '#common/ids.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { AttachmentSpec } from '../../volumes.ts'
import { Id } from '../cloud/id.ts'
import type { CloudServer } from '../compute/cloud-server.ts'
import { idleServer } from '../compute/find-server.ts'
import type { NestedHost } from '../host.ts'
import {
  actOnVolume,
  type CloudVolume,
  getVolume,
  isBusy,
  setMetadata,
  showOne,
} from './cloud-volume.ts'

const Attachment = Type.Object({
  volumeAttachment: Type.Object({ device: Type.Optional(Nullable(Type.String())) }),
})

const AttachmentList = Type.Object({
  volumeAttachments: Type.Array(Type.Object({ volumeId: Id })),
})

/** A volume gets a tag with its attachment, and goes to a further server, since then. */
const TAG_SINCE = '2.49'
const SHARED_SINCE = '2.60'
/** A guest releases a disk when its kernel handles the request; the cloud asks it for a while, too. */
const LET_GO_MS = 20_000

/** By which a volume below says how one of our attachments has it. It is stored there, so it never changes. */
const MARK = 'weir_attachment_'

/** Afterwards the instance has the volume: returns the name that the cloud expects in the guest. */
export function attachVolume(
  host: NestedHost,
  id: InstanceId,
  attachment: AttachmentSpec,
  signal: AbortSignal,
): Promise<string> {
  return host.locks.run(id, signal, async () => {
    const server = await idleServer(host, id, signal)
    refuseSuspended(server)
    const volume = await getVolume(host, attachment, signal)
    return host.volumeLocks.run(attachment.id, signal, async () => {
      const isAsked = (await deviceOf(host, server.id, volume.id, signal)) !== undefined
      if (!isAsked) {
        refuseTaken(volume, attachment, server.id)
        await prepare(host, volume, attachment, signal)
      }
      await mark(host, server.id, volume, attachment, signal)
      try {
        if (!isAsked) await askToAttach(host, server.id, volume, attachment, signal)
        return await awaitAttached(host, server.id, volume, attachment, signal)
      } catch (error) {
        // Of any other failure it is not known whether the server has it.
        if (isFailure(error) && error.kind !== 'unavailable')
          await unmark(host, volume.id, attachment.attachmentId)
        throw error
      }
    })
  })
}

/** Afterwards the instance does not have the volume. */
export function detachVolume(
  host: NestedHost,
  id: InstanceId,
  attachment: AttachmentId,
  signal: AbortSignal,
): Promise<void> {
  return host.locks.run(id, signal, async () => {
    const server = await idleServer(host, id, signal)
    const volume = await volumeOf(host, server, attachment, signal)
    if (volume === undefined) return
    refuseSuspended(server)
    if (marksIn(volume.metadata).some((each) => each.attachment === attachment && each.isRoot))
      throw new Failure('conflict', `Instance ${id} starts from volume ${volume.id}.`)
    await unplug(host, server.id, volume, signal)
    await unmark(host, volume.id, attachment)
  })
}

/** A volume of a new server, as it is below. */
export interface ServerVolume {
  readonly attachment: AttachmentSpec
  readonly volume: CloudVolume
}

/**
 * The volumes of a new server, ready for it. Throws `not-found` for one that there is not, and `conflict` for one that
 * another server has.
 */
export async function volumesForServer(
  host: NestedHost,
  { volumes = [] }: InstanceSpec,
  signal: AbortSignal,
): Promise<readonly ServerVolume[]> {
  const found: ServerVolume[] = []
  for (const attachment of volumes) {
    const volume = await getVolume(host, attachment, signal)
    refuseTaken(volume, attachment, null)
    found.push({ attachment, volume })
  }
  for (const { attachment, volume } of found) await prepare(host, volume, attachment, signal)
  return found
}

/** Afterwards the volumes of a server that has them from the start say by which attachments. */
export async function markVolumesOf(
  host: NestedHost,
  { volumes = [] }: InstanceSpec,
  serverId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const attachment of volumes)
    await mark(host, serverId, await getVolume(host, attachment, signal), attachment, signal)
}

/** Afterwards volumes of a server that has gone say nothing of it. */
export async function unmarkVolumes(
  host: NestedHost,
  server: CloudServer,
  signal: AbortSignal,
): Promise<void> {
  for (const { id } of server['os-extended-volumes:volumes_attached'] ?? []) {
    const volume = await showOne(host.cloud, 'volumes', id, signal)
    const keys = Object.entries(volume?.metadata ?? {})
      .filter(([key, value]) => key.startsWith(MARK) && value.startsWith(`${server.id} `))
      .map(([key]) => key)
    for (const key of keys) await removeMark(host, id, key, signal)
  }
}

/** Throws `conflict` when a server other than this one has the volume and not both share it. */
function refuseTaken(
  { attachments, metadata }: CloudVolume,
  { id, isShared, isReadOnly }: AttachmentSpec,
  serverId: string | null,
): void {
  const others = attachments.filter(({ server_id }) => server_id !== serverId)
  if (others.length === 0) return
  const marks = marksIn(metadata)
  const isSharedBy = (server: string) =>
    marks.some((each) => each.serverId === server && each.isShared)
  if (!isShared || !others.every(({ server_id }) => isSharedBy(server_id)))
    throw new Failure('conflict', `Another server of the nested cloud has volume ${id}.`)
  if (isReadOnly !== isReadOnlyBelow(metadata))
    throw new Failure(
      'conflict',
      `Other servers have volume ${id} ${isReadOnly ? 'not only to read' : 'only to read'}, and the nested cloud gives all of them the same.`,
    )
}

/** Afterwards the cloud attaches the volume as wanted. */
async function prepare(
  host: NestedHost,
  volume: CloudVolume,
  { isReadOnly, isRoot }: AttachmentSpec,
  signal: AbortSignal,
): Promise<void> {
  if (volume.attachments.length === 0 && isReadOnly !== isReadOnlyBelow(volume.metadata)) {
    const body = { 'os-update_readonly_flag': { readonly: isReadOnly } }
    await actOnVolume(host, volume, body, { signal })
  }
  if (isRoot !== true || volume.bootable === 'true') return
  await actOnVolume(host, volume, { 'os-set_bootable': { bootable: true } }, { signal })
}

async function askToAttach(
  { cloud, versions }: NestedHost,
  serverId: string,
  { id: volumeId, multiattach }: CloudVolume,
  { tag }: AttachmentSpec,
  signal: AbortSignal,
): Promise<void> {
  const needed = multiattach
    ? await versions.need(SHARED_SINCE, 'a volume of a multiattach type', signal)
    : tag && (await versions.need(TAG_SINCE, `the tag ${tag}`, signal))
  const body = { volumeAttachment: { volumeId, ...(tag !== undefined && { tag }) } }
  const path = `/servers/${serverId}/os-volume_attachments`
  await cloud.call('compute', 'POST', path, { body, microversion: needed, signal })
}

/** The name in the guest, once the cloud has attached the volume. Throws `conflict` where it could not. */
async function awaitAttached(
  host: NestedHost,
  serverId: string,
  volume: CloudVolume,
  attachment: AttachmentSpec,
  signal: AbortSignal,
): Promise<string> {
  const { cloud, settings } = host
  for (;;) {
    const seen = await showOne(cloud, 'volumes', volume.id, signal)
    const device = await deviceOf(host, serverId, volume.id, signal)
    const isAttached = seen?.attachments.some(({ server_id }) => server_id === serverId) === true
    if (isAttached && seen.status === 'in-use' && device !== undefined) {
      if (volume.multiattach) await yieldToOthers(host, serverId, seen, attachment, signal)
      return device
    }
    if (device === undefined && !isAttached && (seen === undefined || !isBusy(seen)))
      throw new Failure('conflict', 'The nested cloud could not attach the volume.', {
        detail: `afterwards the volume is ${seen?.status ?? 'gone'}`,
      })
    await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** Of two who want it for themselves at the same time, at most one keeps a volume that the cloud gives to several. */
async function yieldToOthers(
  host: NestedHost,
  serverId: string,
  volume: CloudVolume,
  attachment: AttachmentSpec,
  signal: AbortSignal,
): Promise<void> {
  try {
    refuseTaken(volume, attachment, serverId)
  } catch (error) {
    await unplug(host, serverId, volume, signal)
    throw error
  }
}

async function unplug(
  host: NestedHost,
  serverId: string,
  { id }: CloudVolume,
  signal: AbortSignal,
): Promise<void> {
  const { cloud, settings } = host
  const deadline = performance.now() + LET_GO_MS
  for (;;) {
    const seen = await showOne(cloud, 'volumes', id, signal)
    const isAttached = seen?.attachments.some(({ server_id }) => server_id === serverId) === true
    const device = await deviceOf(host, serverId, id, signal)
    if (device === undefined && !isAttached) return
    if (performance.now() > deadline)
      throw new Failure('conflict', `The guest does not release volume ${id}.`)
    if (seen !== undefined && !isBusy(seen) && device !== undefined)
      await cloud
        .call('compute', 'DELETE', `/servers/${serverId}/os-volume_attachments/${id}`, { signal })
        .catch((error: unknown) => {
          if (!isFailure(error, 'not-found')) throw error
        })
    await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** The name that the cloud expects in the guest, empty where it says none; undefined: the server does not have the volume. */
async function deviceOf(
  { cloud }: NestedHost,
  serverId: string,
  volumeId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/servers/${serverId}/os-volume_attachments/${volumeId}`
  try {
    const { body } = await cloud.ask(Attachment, 'compute', 'GET', path, { signal })
    return body.volumeAttachment.device ?? ''
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

/** The volume that the server has by the attachment; undefined: none. */
async function volumeOf(
  host: NestedHost,
  { id }: CloudServer,
  attachment: AttachmentId,
  signal: AbortSignal,
): Promise<CloudVolume | undefined> {
  const path = `/servers/${id}/os-volume_attachments`
  const { body } = await host.cloud.ask(AttachmentList, 'compute', 'GET', path, { signal })
  for (const { volumeId } of body.volumeAttachments) {
    const volume = await showOne(host.cloud, 'volumes', volumeId, signal)
    const found = volume && marksIn(volume.metadata).find((each) => each.attachment === attachment)
    if (found?.serverId === id) return volume
  }
  return undefined
}

interface AttachmentMark {
  readonly attachment: string
  readonly serverId: string
  readonly isShared: boolean
  readonly isRoot: boolean
}

function marksIn(metadata: CloudVolume['metadata']): readonly AttachmentMark[] {
  return Object.entries(metadata)
    .filter(([key]) => key.startsWith(MARK))
    .map(([key, value]) => {
      const [serverId = '', ...how] = value.split(' ')
      const [isShared, isRoot] = [how.includes('shared'), how.includes('root')]
      return { attachment: key.slice(MARK.length), serverId, isShared, isRoot }
    })
}

async function mark(
  { cloud }: NestedHost,
  serverId: string,
  { id, metadata }: CloudVolume,
  { attachmentId, isShared, isRoot }: AttachmentSpec,
  signal: AbortSignal,
): Promise<void> {
  const key = `${MARK}${attachmentId}`
  const value = [serverId, isShared ? 'shared' : 'alone', isRoot === true ? 'root' : 'data'].join(
    ' ',
  )
  if (metadata[key] !== value) await setMetadata(cloud, id, { [key]: value }, signal)
}

const UNMARK_MS = 30_000

/** Afterwards the volume says nothing of the attachment. The caller's signal may have ended the work, so this has its own limit. */
async function unmark(host: NestedHost, id: string, attachment: AttachmentId): Promise<void> {
  await removeMark(host, id, `${MARK}${attachment}`, AbortSignal.timeout(UNMARK_MS))
}

async function removeMark(
  { cloud }: NestedHost,
  id: string,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const path = `/volumes/${id}/metadata/${key}`
  await cloud.call('volume', 'DELETE', path, { signal }).catch((error: unknown) => {
    if (!isFailure(error, 'not-found')) throw error
  })
}

function isReadOnlyBelow({ readonly: isReadOnly }: CloudVolume['metadata']): boolean {
  return isReadOnly?.toLowerCase() === 'true'
}

/** The memory that was saved goes with the disks there were then. */
function refuseSuspended({ status }: CloudServer): void {
  if (status === 'SUSPENDED')
    throw new Failure('conflict', 'The volumes of a suspended instance cannot be changed.')
}
