import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeSnapshotRef } from '#openapi/wire/cell-volume-snapshot.ts'
import {
  findVolumeSnapshot,
  removeOwnSnapshot,
  updateSeenSnapshot,
} from '../../db/volume-snapshots.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { VolumeSnapshot } from '../../volumes/volume-snapshot.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import { queueSnapshotChange, queueSnapshotGone } from './create-volume-snapshot.ts'

export interface DeleteVolumeSnapshotParams {
  readonly operation: VolumeSnapshotRef
  /** As it was when the delete was decided on. */
  readonly snapshot: VolumeSnapshot
}

type DeleteCall = StepCall<Conductor, DeleteVolumeSnapshotParams>

/** The snapshot once the delete has it. */
export function deletingSnapshot(
  { snapshot }: DeleteVolumeSnapshotParams,
  sagaId: SagaId,
): VolumeSnapshot {
  return { ...snapshot, version: snapshot.version + 1, state: 'deleting', sagaId }
}

/** Takes the snapshot from the saga that was making it; throws `conflict` when it has changed since it was read. */
const take: LocalStep<Conductor, DeleteVolumeSnapshotParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId }) => {
    const { snapshot } = params
    if (await updateSeenSnapshot(tx, snapshot, deletingSnapshot(params, sagaId))) return null
    throw new Failure('conflict', `Snapshot ${snapshot.id} has just changed.`)
  },
  // A delete is never taken back.
  undo: 'none',
}

const destroy: RemoteStep<Conductor, DeleteVolumeSnapshotParams> = {
  kind: 'remote',
  name: 'destroy',
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { id, volumeId, storeId } = params.snapshot
    return workOnStore(deps, {
      host: await hostOfVolume(deps, params.snapshot),
      operation: 'volume-destroy-snapshot',
      payload: {
        operation: { id: params.operation.id, store: storeId, volumeId },
        snapshotId: id,
      },
      work,
      signal,
      isWanted: async () => (await findVolumeSnapshot(deps.db, id))?.sagaId === sagaId,
    })
  },
  forwardOnly: true,
  undo: 'none',
}

const forget: LocalStep<Conductor, DeleteVolumeSnapshotParams> = {
  kind: 'local',
  name: 'forget',
  run: async (tx, call) => {
    const { deps, params, sagaId } = call
    const done = call.output<VolumeDone>('destroy')!
    if (done.outcome === 'failed') return keep(tx, call, done.reason)
    const { snapshot } = params
    if (await removeOwnSnapshot(tx, sagaId, snapshot))
      queueSnapshotGone(tx, deps, snapshot, call.work)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Afterwards the snapshot waits in `error-deleting` for another delete: its store still has it. */
async function keep(tx: Tx, call: DeleteCall, reason: string): Promise<null> {
  const { deps, params, sagaId, work } = call
  const seen = deletingSnapshot(params, sagaId)
  const to: VolumeSnapshot = {
    ...seen,
    version: seen.version + 1,
    state: 'error-deleting',
    fault: reason,
    sagaId: null,
    updatedAt: deps.clock.now(),
  }
  if (await updateSeenSnapshot(tx, seen, to)) queueSnapshotChange(tx, deps, to, work)
  return null
}

/** Destroys a snapshot in any state; a saga that makes it is preempted. Its store may refuse, and then it is kept. */
export const deleteVolumeSnapshotSaga: Saga<Conductor, DeleteVolumeSnapshotParams> = {
  name: 'delete-volume-snapshot',
  version: 1,
  steps: [take, destroy, forget],
}
