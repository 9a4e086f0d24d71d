import { Failure } from '#common/errors.ts'
import type { HostId, VolumeId } from '#common/ids.ts'
import type { AttachmentSpec } from '../../../volumes.ts'
import type { IscsiSession } from './iscsi-session.ts'
import type { LunHolder } from './lun-label.ts'
import { changeHolder, holderOf, type LabelledLun, writeHolder } from './luns.ts'

// A target lets any number of initiators write a LUN, and tells nobody who they are. So a host writes on the LUN which of its
// guests has the volume, from before the guest gets it until after the guest is without it.

/** Others may change it at the same time. */
const TRIES_MAX = 5

export interface HolderAt {
  readonly session: IscsiSession
  readonly lun: LabelledLun
  readonly hostId: HostId
}

type Attachment = Pick<AttachmentSpec, 'id' | 'attachmentId'>

/**
 * Afterwards the attachment has the volume, on this host. Throws `conflict` where another one has it, or the same on another
 * host, unless the guest `moves` here from there, which has let it go.
 */
export async function hold(
  { session, lun, hostId }: HolderAt,
  { id, attachmentId }: Attachment,
  moves = false,
): Promise<void> {
  const next: LunHolder = { host: hostId, attachment: attachmentId }
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const before = await holderOf(session, lun)
    const isSame = before?.attachment === attachmentId
    if (isSame && before.host === hostId) return
    if (isSame && (moves || before.to === hostId)) return writeHolder(session, lun, next)
    if (before !== undefined) throw heldBy(id, before)
    if (await changeHolder(session, lun, { before, next })) return
  }
  throw changing(id)
}

/**
 * Afterwards both hosts have the volume for this attachment, whose guest is about to move here while it runs: whichever is
 * without the guest in the end lets its part go. Throws `conflict` where another attachment has it.
 */
export async function expect(at: HolderAt, { id, attachmentId }: Attachment): Promise<void> {
  const { session, lun, hostId } = at
  const before = await holderOf(session, lun)
  if (before === undefined) return hold(at, { id, attachmentId })
  if (before.attachment !== attachmentId) throw heldBy(id, before)
  if (before.host !== hostId) await writeHolder(session, lun, { ...before, to: hostId })
}

/** Afterwards this attachment does not have the volume on this host. Whoever else has it keeps it. */
export async function release(
  { session, lun, hostId }: HolderAt,
  { id, attachmentId: attachment }: Attachment,
): Promise<void> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const before = await holderOf(session, lun)
    if (before === undefined || before.attachment !== attachment) return
    const { host, to } = before
    if (to === hostId) return writeHolder(session, lun, { host, attachment })
    if (host !== hostId) return
    if (to !== undefined) return writeHolder(session, lun, { host: to, attachment })
    if (await changeHolder(session, lun, { before, next: undefined })) return
  }
  throw changing(id)
}

/** Afterwards no guest gets the volume any more, which is to be removed. Throws `conflict` where one has it. */
export async function closeForGood(
  { session, lun, hostId }: HolderAt,
  id: VolumeId,
): Promise<void> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const before = await holderOf(session, lun)
    if (before?.attachment !== undefined) throw heldBy(id, before)
    if (await changeHolder(session, lun, { before, next: { host: hostId } })) return
  }
  throw changing(id)
}

/** Throws `conflict` while a guest has the volume, on whichever host. */
export async function refuseHeld({ session, lun }: HolderAt, id: VolumeId): Promise<void> {
  const holder = await holderOf(session, lun)
  if (holder?.attachment !== undefined) throw heldBy(id, holder)
}

/** Throws `conflict` while another host may have a guest that writes the volume: nothing could keep that from doing so. */
export async function refuseHeldElsewhere(
  { session, lun, hostId }: HolderAt,
  id: VolumeId,
): Promise<void> {
  const holder = await holderOf(session, lun)
  if (holder === undefined || (holder.host === hostId && holder.to === undefined)) return
  throw new Failure(
    'conflict',
    `Volume ${id} is on an iSCSI LUN, from which guests of a lost host cannot be shut out, and host ${holder.host} has it.`,
  )
}

function heldBy(id: VolumeId, { host, attachment }: LunHolder): Failure {
  const whose = attachment === undefined ? `${host}, which removes it` : host
  return new Failure(
    'conflict',
    `Volume ${id} is on an iSCSI LUN that a guest has open, of host ${whose}.`,
  )
}

function changing(id: VolumeId): Failure {
  return new Failure('unavailable', `Other hosts are changing who has volume ${id}.`)
}
