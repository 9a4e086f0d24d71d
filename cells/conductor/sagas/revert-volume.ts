import type { VolumeSnapshotId } from '#common/ids.ts'
import type { RemoteStep, Saga } from '#common/saga/saga.ts'
import { findVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { Conductor } from '../conductor.ts'
import { workOnStore } from '../work-on-store.ts'
import { finishStep, markStep, type VolumeTaskParams } from './volume-task.ts'

export interface RevertVolumeParams extends VolumeTaskParams {
  readonly snapshotId: VolumeSnapshotId
}

const revert: RemoteStep<Conductor, RevertVolumeParams> = {
  kind: 'remote',
  name: 'work',
  forwardOnly: true,
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume, snapshotId } = params
    return workOnStore(deps, {
      host: await hostOfVolume(deps, volume),
      operation: 'volume-revert',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        snapshotId,
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // A host changes the whole content, or nothing.
  undo: 'none',
}

/** Gives a volume the content of its snapshot. Afterwards it is available, with the reason as its fault if that failed. */
export const revertVolumeSaga: Saga<Conductor, RevertVolumeParams> = {
  name: 'revert-volume',
  version: 1,
  steps: [markStep('reverting', 'The revert ended unexpectedly.'), revert, finishStep('reverting')],
}
