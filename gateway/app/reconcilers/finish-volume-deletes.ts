import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { type CellId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { unownedSnapshotDeletes } from '../../db/volume-snapshots.ts'
import { unownedVolumeDeletes } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import { deleteVolumeSaga } from '../sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga } from '../sagas/delete-volume-snapshot.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH_MAX = 100
/** A cell's feed mostly reports the end of a delete sooner. */
const IDLE_MS = 10_000

/** Repeats the deletes of volumes whose cell has not reported them as done. Unreachable cells are skipped until they are back. */
export function finishVolumeDeletes(compute: Compute): RowReconciler<VolumeId> {
  return {
    name: 'finish volume deletes',
    everyMs: EVERY_MS,
    due: () => unownedVolumeDeletes(compute.db, unreachable(compute), IDLE_MS, BATCH_MAX),
    keyOf: (volumeId) => volumeId,
    work: async (volumeId) => {
      const params = { volumeId, operationId: newId<string>(), isForced: true }
      const start = { subject: volumeId, params, work: workContext({}) }
      await compute.sagas.start(deleteVolumeSaga, start).catch(toleratingAbsence)
    },
  }
}

/** The same for snapshots of volumes. */
export function finishSnapshotDeletes(compute: Compute): RowReconciler<VolumeSnapshotId> {
  return {
    name: 'finish snapshot deletes',
    everyMs: EVERY_MS,
    due: () => unownedSnapshotDeletes(compute.db, unreachable(compute), IDLE_MS, BATCH_MAX),
    keyOf: (snapshotId) => snapshotId,
    work: async (snapshotId) => {
      const params = { snapshotId, operationId: newId<string>(), isForced: true }
      const start = { subject: snapshotId, params, work: workContext({}) }
      await compute.sagas.start(deleteVolumeSnapshotSaga, start).catch(toleratingAbsence)
    },
  }
}

function unreachable({ cells }: Compute): readonly CellId[] {
  return cells.cells().flatMap(({ id, isReachable }) => (isReachable ? [] : [id]))
}

/** Another gateway, or the feed, was quicker. */
function toleratingAbsence(error: unknown): void {
  if (!isFailure(error, 'not-found')) throw error
}
