import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { settledWithin } from '#common/settled-within.ts'
import { lockSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { deleteVolumeSnapshotSaga } from '../sagas/delete-volume-snapshot.ts'
import { showSnapshot, snapshotNotFound } from './snapshots.ts'
import { DELETABLE_SNAPSHOT, type VolumeSnapshotStatus } from './volume-snapshot.ts'

/** A cell that takes longer is not waited for: the delete is accepted, and shown as such. */
const WAIT_MS = 2_000

/**
 * Afterwards the snapshot is being deleted, also while its cell is unreachable; a quick cell has deleted it already. A
 * repeat is harmless. Throws `not-found`, and `invalid` in a status that forbids it, unless it is forced.
 */
export async function deleteSnapshot(
  compute: Compute,
  context: RequestContext,
  id: string,
  { isForced }: { readonly isForced: boolean },
): Promise<void> {
  const snapshot = await showSnapshot(compute, context, id)
  if (snapshot.isDeleting) return
  if (!isForced && !DELETABLE_SNAPSHOT.includes(snapshot.status)) throw notDeletable()
  const params = { snapshotId: snapshot.id, operationId: newId<string>(), isForced }
  try {
    const start = { subject: snapshot.id, params, work: context }
    const run = await compute.sagas.start(deleteVolumeSnapshotSaga, start)
    await settledWithin(compute.clock, WAIT_MS, run.finished)
  } catch (error) {
    if (isFailure(error, 'conflict')) throw notDeletable()
    throw error
  }
}

/** Cinder's sentence (cinder/volume/api.py). */
function notDeletable(): Failure {
  return new Failure(
    'invalid',
    'Invalid snapshot: Snapshot status must be available or error or error_deleting and must not be part of a group.',
  )
}

/**
 * Afterwards the snapshot shows this status: an administrator's word, of which the cell hears nothing. Throws `conflict`
 * while it is being changed or deleted, and for one that is in no cell.
 */
export async function resetSnapshotStatus(
  compute: Compute,
  context: RequestContext,
  id: string,
  status: Extract<VolumeSnapshotStatus, 'available' | 'error' | 'error_deleting'>,
): Promise<void> {
  const { id: snapshotId } = await showSnapshot(compute, context, id)
  await compute.db.transaction(async (tx) => {
    const snapshot = await lockSnapshot(tx, snapshotId)
    if (snapshot === undefined) throw snapshotNotFound(id)
    if (snapshot.sagaId !== null || snapshot.cellId === null || snapshot.isDeleting)
      throw new Failure('conflict', `Snapshot ${id} is ${snapshot.status}, and cannot be reset.`)
    await writeLockedSnapshot(tx, snapshotId, { status }, { isIntent: false })
  })
}
