import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, CellId, InstanceId } from '#common/ids.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import { queueHeldStatus } from '../../db/held-volumes.ts'
import {
  attachmentsOfServers,
  attachmentsOfVolumes,
  queueAttachment,
  queueRemoveAttachment,
  queueServerVolumes,
} from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { leaveToDelete, lockVolumes } from '../../db/volumes.ts'
import type { RequestContext } from '../request-context.ts'
import type { Volume } from './volume.ts'

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

/** Throws `invalid`, in Nova's words, for a volume that is not free, and for one in another cell than the server. */
export function refuseHeld(volume: Volume, serverId: string, cellId: CellId): void {
  const isFree =
    volume.status === 'available' || (volume.isMultiattach && volume.status === 'in-use')
  if (!isFree) throw notFree(volume)
  if (volume.cellId !== cellId)
    throw new Failure(
      'invalid',
      `Invalid volume: Instance ${serverId} and volume ${volume.id} are not in the same cell, and a volume cannot be attached across cells.`,
    )
}

/** Afterwards the locked volume is held for the server. Throws as `refuseHeld`; a server that has it fails the transaction so. */
export function beginAttachment(
  tx: Tx,
  volume: Volume,
  { attachmentId: id, ...wanted }: WantedAttachment,
  cellId: CellId,
): void {
  refuseHeld(volume, wanted.serverId, cellId)
  const otherwise = () => (volume.isMultiattach ? alreadyHeld(volume) : notFree(volume))
  queueAttachment(tx, { ...wanted, id, volumeId: volume.id }, otherwise)
  queueHeldStatus(tx, volume.id)
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

/** Nova's sentence for a server that has the volume. */
export function alreadyHeld({ id }: Pick<Volume, 'id'>): Failure {
  return new Failure('invalid', `Invalid volume: volume ${id} already attached`)
}

/** Nova's sentence, with that of Cinder in it. */
export function notFree({ id, status }: Pick<Volume, 'id' | 'status'>): Failure {
  return new Failure(
    'invalid',
    `Invalid input received: Invalid volume: Volume ${id} status must be available or downloading to reserve, but the current status is ${status}.`,
  )
}

/** Afterwards the server does not have the locked volume, whose host says that. */
export async function endAttachment(tx: Tx, { id: volumeId }: Volume, id: string): Promise<void> {
  const attachments = await attachmentsOfVolumes(tx, [volumeId])
  const attachment = attachments.find((each) => each.id === id)
  if (attachment === undefined) return
  queueRemoveAttachment(tx, attachment.id)
  queueHeldStatus(tx, volumeId)
  queueServerVolumes(tx, attachment.serverId)
}

/**
 * Afterwards a server that is to be built again without its volumes has none: those that another cell has, and that were
 * not lost with its own, are free, and none is deleted.
 */
export async function freeVolumes(tx: Tx, serverId: InstanceId): Promise<void> {
  const attachments = await attachmentsOfServers(tx, [serverId])
  if (attachments.length === 0) return
  const ids = attachments.map(({ volumeId }) => volumeId)
  const locked = await lockVolumes(tx, ids)
  for (const { id } of attachments) queueRemoveAttachment(tx, id)
  for (const { id } of locked) queueHeldStatus(tx, id)
  queueServerVolumes(tx, serverId)
}

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
  for (const { id } of attachments) queueRemoveAttachment(tx, id)
  for (const volume of locked) {
    queueHeldStatus(tx, volume.id)
    const own = attachments.filter(({ volumeId }) => volumeId === volume.id)
    const isWanted = (await attachmentsOfVolumes(tx, [volume.id])).length > 0
    const goes = !isWanted && own.some(({ deletesVolume }) => deletesVolume)
    if (goes && (await snapshotsOfVolume(tx, volume.id)).length === 0)
      await leaveToDelete(tx, volume.id)
  }
  for (const serverId of new Set(attachments.map((each) => each.serverId)))
    queueServerVolumes(tx, serverId)
}
