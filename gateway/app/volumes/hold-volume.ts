import type { Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, CellId, InstanceId } from '#common/ids.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import {
  attachmentsOfServers,
  attachmentsOfVolumes,
  insertAttachment,
  removeAttachment,
  showServerVolumes,
} from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { leaveToDelete, lockVolumes, writeLockedVolume } from '../../db/volumes.ts'
import type { RequestContext } from '../request-context.ts'
import type { Volume, VolumeStatus } from './volume.ts'

/** What is asked of a volume. */
export interface WantedAttachment {
  readonly attachmentId: AttachmentId
  readonly serverId: InstanceId
  readonly tag: string | null
  readonly deletesVolume: boolean
  /** The server starts from it. */
  readonly isRoot: boolean
  /** The name that the guest most likely gives it; null until the host has said. */
  readonly device: string | null
}

/**
 * Afterwards the locked volume is held for the server. Throws `invalid`, in Nova's words, when it is not free, and when
 * it is in another cell than the server.
 */
export async function beginAttachment(
  tx: Tx,
  volume: Volume,
  { attachmentId: id, ...wanted }: WantedAttachment,
  cellId: CellId,
): Promise<void> {
  const isFree =
    volume.status === 'available' || (volume.isMultiattach && volume.status === 'in-use')
  if (!isFree) throw notFree(volume)
  if (volume.cellId !== cellId)
    throw new Failure(
      'invalid',
      `Invalid volume: Instance ${wanted.serverId} and volume ${volume.id} are not in the same cell, and a volume cannot be attached across cells.`,
    )
  try {
    await insertAttachment(tx, { ...wanted, id, volumeId: volume.id })
  } catch (error) {
    if (isDuplicate(error)) throw notFree(volume)
    throw error
  }
}

/** Since when clients of the Compute API know of volumes that several servers use at once. */
const SHARED_SINCE: Microversion = '2.60'

/** Throws `invalid`, in Nova's words, for a multiattach volume in a request of an older microversion. */
export function refuseUnknownSharing(
  { microversion }: Pick<RequestContext, 'microversion'>,
  { isMultiattach }: Pick<Volume, 'isMultiattach'>,
): void {
  if (!isMultiattach || compareMicroversions(microversion as Microversion, SHARED_SINCE) >= 0)
    return
  throw new Failure(
    'invalid',
    `Multiattach volumes are only supported starting with compute API version ${SHARED_SINCE}.`,
  )
}

/** Nova's sentence, with that of Cinder in it. */
function notFree({ id, status }: Volume): Failure {
  return new Failure(
    'invalid',
    `Invalid input received: Invalid volume: Volume ${id} status must be available or downloading to reserve, but the current status is ${status}.`,
  )
}

/** Afterwards a locked volume shows what its attachments make of it. One that is not whole stays as it is. */
export async function showAttached(tx: Tx, volume: Volume): Promise<void> {
  if (!HOLDING.has(volume.status)) return
  const attachments = await attachmentsOfVolumes(tx, [volume.id])
  const states = new Set(attachments.map(({ state }) => state))
  let status: VolumeStatus = 'available'
  if (states.has('attached')) status = 'in-use'
  else if (states.has('attaching')) status = 'attaching'
  else if (states.has('detaching')) status = 'detaching'
  if (status !== volume.status)
    await writeLockedVolume(tx, volume.id, { status }, { isIntent: false })
}

/** Afterwards the server does not have the locked volume, whose host says that. */
export async function endAttachment(tx: Tx, volume: Volume, id: string): Promise<void> {
  const attachments = await attachmentsOfVolumes(tx, [volume.id])
  const attachment = attachments.find((each) => each.id === id)
  if (attachment === undefined) return
  await removeAttachment(tx, attachment.id)
  await showAttached(tx, volume)
  await showServerVolumes(tx, attachment.serverId)
}

/** The statuses of a whole volume, by its attachments. */
export const HOLDING: ReadonlySet<VolumeStatus> = new Set([
  'available',
  'attaching',
  'in-use',
  'detaching',
])

/**
 * Afterwards servers that are gone have no volumes: these are free again, or are being deleted where that was asked for
 * with the attachment. One with snapshots stays, as in Nova.
 */
export async function releaseVolumes(tx: Tx, serverIds: readonly string[]): Promise<void> {
  const attachments = await attachmentsOfServers(tx, serverIds)
  if (attachments.length === 0) return
  const locked = await lockVolumes(
    tx,
    attachments.map(({ volumeId }) => volumeId),
  )
  for (const { id } of attachments) await removeAttachment(tx, id)
  for (const volume of locked) {
    await showAttached(tx, volume)
    const own = attachments.filter(({ volumeId }) => volumeId === volume.id)
    const isWanted = (await attachmentsOfVolumes(tx, [volume.id])).length > 0
    const goes = !isWanted && own.some(({ deletesVolume }) => deletesVolume)
    if (goes && (await snapshotsOfVolume(tx, volume.id)).length === 0)
      await leaveToDelete(tx, volume.id)
  }
  for (const serverId of new Set(attachments.map((each) => each.serverId)))
    await showServerVolumes(tx, serverId)
}
