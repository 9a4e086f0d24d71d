import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { unownedVolumeDeletes } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import { deleteVolumeSaga } from '../sagas/delete-volume.ts'
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
    due: () => {
      const unreachable = compute.cells.cells().filter(({ isReachable }) => !isReachable)
      const ids = unreachable.map(({ id }) => id)
      return unownedVolumeDeletes(compute.db, ids, IDLE_MS, BATCH_MAX)
    },
    keyOf: (volumeId) => volumeId,
    work: async (volumeId) => {
      const params = { volumeId, operationId: newId<string>(), isForced: true }
      const start = { subject: volumeId, params, work: workContext({}) }
      await compute.sagas.start(deleteVolumeSaga, start).catch((error: unknown) => {
        // Another gateway, or the feed, was quicker.
        if (!isFailure(error, 'not-found')) throw error
      })
    },
  }
}
