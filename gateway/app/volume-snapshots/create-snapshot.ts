import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId, type SagaId, type VolumeSnapshotId } from '#common/ids.ts'
import { type IdempotencyKey, takeIdempotencyKey } from '../../db/idempotency-keys.ts'
import { findSnapshot, insertSnapshot } from '../../db/volume-snapshots.ts'
import { lockVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { createVolumeSnapshotSaga } from '../sagas/create-volume-snapshot.ts'
import { chargeVolumes } from '../volumes/quotas.ts'
import { refuseUnable } from '../volumes/store-abilities.ts'
import type { Volume } from '../volumes/volume.ts'
import { refuseUnreachable, showVolume } from '../volumes/volumes.ts'
import { snapshotNotFound } from './snapshots.ts'
import type { VolumeSnapshot } from './volume-snapshot.ts'

/** What a user asks for. */
export interface NewSnapshotRequest
  extends Pick<VolumeSnapshot, 'name' | 'description' | 'metadata'> {
  readonly volumeId: string
  /** Also of a volume that a server uses. */
  readonly mayBeInUse: boolean
}

/**
 * Afterwards the snapshot is promised, and its quota charged. A repeat under the same key returns the first snapshot.
 * Throws `not-found` for the volume, `invalid` in a status that forbids it and for a store that cannot make it, `over-quota`,
 * `conflict` when the volume has just grown, and `unavailable` while its cell is unreachable: a snapshot is of now.
 */
export async function createSnapshot(
  compute: Compute,
  context: RequestContext,
  request: NewSnapshotRequest,
  key: IdempotencyKey | null,
): Promise<VolumeSnapshot> {
  const first = await findEarlierResult<{ readonly snapshotId: string }>(compute.db, key)
  const id = first?.snapshotId ?? (await accept(compute, context, request, key))
  const snapshot = await findSnapshot(compute.db, id)
  if (snapshot === undefined) throw snapshotNotFound(id)
  return snapshot
}

async function accept(
  compute: Compute,
  context: RequestContext,
  { volumeId, mayBeInUse, ...named }: NewSnapshotRequest,
  key: IdempotencyKey | null,
): Promise<string> {
  const volume = await showVolume(compute, context, volumeId)
  refuseUnfit(volume, mayBeInUse)
  refuseUnreachable(compute, volume)
  refuseUnable(compute, volume, 'snapshot')
  const { projectId, typeId, sizeGb, cellId } = volume
  const id = newId<VolumeSnapshotId>()
  const sagaId = newId<SagaId>()
  const record = async (tx: Tx): Promise<void> => {
    if (key !== null) await takeIdempotencyKey(tx, key, { snapshotId: id })
    const now = await lockVolume(tx, volume.id)
    if (now === undefined) throw new Failure('not-found', `Volume ${volume.id} could not be found.`)
    refuseUnfit(now, mayBeInUse)
    refuseUnable(compute, now, 'snapshot')
    if (now.sizeGb !== sizeGb)
      throw new Failure('conflict', `Volume ${volume.id} has just changed. Try again.`)
    const of = { projectId, typeId, volumeId: volume.id, sizeGb, cellId }
    await insertSnapshot(tx, { ...named, ...of, id, userId: context.userId, sagaId })
  }
  await compute.sagas.start(createVolumeSnapshotSaga, {
    id: sagaId,
    subject: id,
    params: { snapshotId: id, operationId: newId<string>() },
    work: context,
    before: record,
    after: (tx) => chargeVolumes(tx, volume, { snapshots: 1, gigabytes: sizeGb }),
  })
  return id
}

/** Whether a request allows a snapshot of a volume in use. `isLater`: of 3.66 or later, when that needs no force. Throws `invalid` for a force that was taken back then. */
export function mayBeInUse(force: boolean | null, isLater: boolean): boolean {
  if (!isLater) return force === true
  if (force !== false) return true
  throw new Failure('invalid', 'Invalid value for force: leave it out, or set it to true.')
}

/** Throws `invalid`, in the words of Cinder, for a volume of which no snapshot can be made now. */
function refuseUnfit({ id, status }: Volume, mayBeInUse: boolean): void {
  const fit = mayBeInUse ? ['available', 'in-use'] : ['available']
  if (fit.includes(status)) return
  throw new Failure(
    'invalid',
    `Invalid volume: Volume ${id} status must be ${fit.join(' or ')}, but current status is: ${status}.`,
  )
}
