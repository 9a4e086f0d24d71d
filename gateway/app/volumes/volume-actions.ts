import { Failure, isFailure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import { queueHeldStatus } from '../../db/held-volumes.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { snapshotsOfVolume } from '../../db/volume-snapshots.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { deleteVolumeSaga } from '../sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga } from '../sagas/delete-volume-snapshot.ts'
import { extendVolumeSaga } from '../sagas/extend-volume.ts'
import { isReady } from '../sagas/volume-work.ts'
import { chargeVolumes, refuseLargeVolume } from './quotas.ts'
import { refuseUnable } from './store-abilities.ts'
import { DELETABLE, type Volume, type VolumeStatus } from './volume.ts'
import { refuseUnreachable, showVolume } from './volumes.ts'

/** A cell that takes longer is not waited for: the delete is accepted, and shown as such. */
const WAIT_MS = 2_000

/**
 * Afterwards the volume is being deleted, after its snapshots where `withSnapshots` says so, also while its cell is
 * unreachable; a quick cell has deleted it already. A repeat is harmless. Throws `not-found`, and `invalid` for one with
 * snapshots otherwise and, unless it is forced, in a status that forbids it.
 */
export async function deleteVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  { isForced, withSnapshots }: { readonly isForced: boolean; readonly withSnapshots: boolean },
): Promise<void> {
  const volume = await showVolume(compute, context, id)
  if (volume.isDeleting) return
  if (!isForced && !DELETABLE.includes(volume.status)) throw notDeletable()
  const params = {
    ...{ volumeId: volume.id, operationId: newId<string>(), isForced },
    ...(withSnapshots && { withSnapshots: true as const }),
  }
  try {
    const start = { subject: volume.id, params, work: context }
    const run = await compute.sagas.start(deleteVolumeSaga, start)
    if (withSnapshots) await deleteSnapshots(compute, context, volume.id)
    await settledWithin(compute.clock, WAIT_MS, run.finished)
  } catch (error) {
    if (isFailure(error, 'conflict')) throw notDeletable()
    throw error
  }
}

/** Afterwards the snapshots that were taken with a volume are on their way; a reconciler repeats what fails here. */
async function deleteSnapshots(
  { db, sagas }: Compute,
  work: RequestContext,
  volumeId: VolumeId,
): Promise<void> {
  for (const { id: snapshotId } of await snapshotsOfVolume(db, volumeId)) {
    const params = { snapshotId, operationId: newId<string>(), isForced: true }
    await sagas
      .start(deleteVolumeSnapshotSaga, { subject: snapshotId, params, work })
      .catch((error: unknown) => {
        if (!isFailure(error)) throw error
      })
  }
}

/** Cinder's sentence (cinder/volume/api.py). */
function notDeletable(): Failure {
  return new Failure(
    'invalid',
    'Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.',
  )
}

/**
 * Afterwards the volume is being extended to that size, and the quota counts it. Throws `invalid` for a size that is
 * not larger, in a status that forbids it and for a store that does not do it then, `over-quota`, and `unavailable` while its cell is unreachable.
 */
export async function extendVolume(
  compute: Compute,
  context: RequestContext,
  id: string,
  { toGb, mayBeInUse }: { readonly toGb: number; readonly mayBeInUse: boolean },
): Promise<void> {
  const volume = await showVolume(compute, context, id)
  if (!isReady(volume, mayBeInUse)) throw notExtendable(volume, mayBeInUse)
  if ((await attachmentsOfVolumes(compute.db, [volume.id])).length > 1)
    throw new Failure(
      'invalid',
      `Invalid volume: Volume ${volume.id} is used by several servers. Detach it from all but one to extend it.`,
    )
  const fromGb = volume.sizeGb
  if (toGb <= fromGb)
    throw new Failure(
      'invalid',
      `Invalid input received: New size for extend must be greater than current size. (current: ${fromGb}, extended: ${toGb}).`,
    )
  refuseUnreachable(compute, volume)
  refuseUnable(compute, volume, 'extend')
  await refuseLargeVolume(compute.db, volume.projectId, toGb)
  const params = {
    ...{ volumeId: volume.id, operationId: newId<string>(), fromGb, toGb },
    ...(mayBeInUse && { mayBeInUse: true as const }),
  }
  await compute.sagas.start(extendVolumeSaga, {
    subject: volume.id,
    params,
    work: context,
    after: (tx) => chargeVolumes(tx, volume, { gigabytes: toGb - fromGb }),
  })
}

function notExtendable({ id, status }: Volume, mayBeInUse: boolean): Failure {
  const fit = mayBeInUse ? "'available' or 'in-use'" : "'available'"
  return new Failure(
    'invalid',
    `Invalid volume: Volume ${id} status must be ${fit} to extend, but is '${status}'.`,
  )
}

/** Its cell brings these to an end by itself; a change in between would be charged wrongly when the end is reported. */
const AT_WORK: ReadonlySet<VolumeStatus> = new Set([
  'creating',
  'extending',
  'uploading',
  'reverting',
  'downloading',
])

/** The statuses that an administrator may set. Every other status says that work on the volume is under way, and no work would end it. */
export type ResetStatus = Extract<
  VolumeStatus,
  'available' | 'error' | 'error_deleting' | 'in-use' | 'maintenance'
>

/**
 * Afterwards the volume shows this status: an administrator's word, of which the cell hears nothing. Throws `conflict`
 * while it is being changed or deleted, and `invalid` where its attachments say otherwise: an attached volume that were
 * available would be given to a second server.
 */
export async function resetVolumeStatus(
  compute: Compute,
  context: RequestContext,
  id: string,
  status: ResetStatus,
): Promise<void> {
  const { id: volumeId } = await showVolume(compute, context, id)
  await compute.db.transaction(async (tx) => {
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined) throw new Failure('not-found', `Volume ${id} could not be found.`)
    const isBusy = volume.sagaId !== null || AT_WORK.has(volume.status)
    if (isBusy || volume.cellId === null || volume.isDeleting)
      throw new Failure('conflict', `Volume ${id} is ${volume.status}, and cannot be reset.`)
    const [attachment] = await attachmentsOfVolumes(tx, [volumeId])
    refuseOtherThanHeld(volume, status, attachment)
    await writeLockedVolume(tx, volumeId, { status, isDeleting: false }, { isIntent: false })
    // Its server may still be getting it, or letting it go.
    queueHeldStatus(tx, volumeId)
  })
}

function refuseOtherThanHeld(
  { id }: Volume,
  status: ResetStatus,
  attachment: { readonly serverId: string } | undefined,
): void {
  // Cinder's sentence (cinder/api/contrib/admin_actions.py).
  if (status === 'in-use' && attachment === undefined)
    throw new Failure(
      'invalid',
      'Cannot reset-state to in-use because volume does not have any attachments.',
    )
  if (status === 'available' && attachment !== undefined)
    throw new Failure(
      'invalid',
      `Volume ${id} cannot be reset to available, because server ${attachment.serverId} has it. Reset it to in-use, or detach it.`,
    )
}
