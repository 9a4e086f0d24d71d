import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import type { VolumeSnapshotRef } from '#openapi/wire/cell-volume-snapshot.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { queueStoreClaim, queueStoreReturn } from '../../db/stores.ts'
import {
  findVolumeSnapshot,
  queueSnapshotEnd,
  queueVolumeSnapshot,
  removeOwnSnapshot,
  updateSeenSnapshot,
} from '../../db/volume-snapshots.ts'
import { type VolumeSnapshot, volumeSnapshotView } from '../../volumes/volume-snapshot.ts'
import { requestOf } from '../action-event.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'

export interface CreateVolumeSnapshotParams {
  readonly operation: VolumeSnapshotRef
  /** What is made, of a volume that the cell has. */
  readonly snapshot: Omit<VolumeSnapshot, 'version' | 'state' | 'fault' | 'sagaId'>
  /** The most that the store may promise in all. */
  readonly limitGb: number
}

/** The snapshot while its content is kept. */
export function creatingSnapshot(
  { snapshot }: CreateVolumeSnapshotParams,
  sagaId: SagaId,
): VolumeSnapshot {
  return { ...snapshot, version: 1, state: 'creating', fault: null, sagaId }
}

/** Afterwards the cell has the snapshot and its room. Throws `no-capacity` when the store has none. */
const claim: LocalStep<Conductor, CreateVolumeSnapshotParams> = {
  kind: 'local',
  name: 'claim',
  run: (tx, { params, sagaId }) => {
    queueVolumeSnapshot(tx, creatingSnapshot(params, sagaId))
    queueStoreClaim(tx, params.snapshot, params.limitGb)
    return Promise.resolve(null)
  },
  undo: async (tx, call) => {
    const snapshot = creatingSnapshot(call.params, call.sagaId)
    if (await removeOwnSnapshot(tx, call.sagaId, snapshot))
      queueSnapshotGone(tx, call.deps, snapshot)
  },
}

const make: RemoteStep<Conductor, CreateVolumeSnapshotParams> = {
  kind: 'remote',
  name: 'make',
  forwardOnly: true,
  run: ({ deps, params, work, sagaId }, signal) => {
    const { id, volumeId, storeId, hostId } = params.snapshot
    return workOnStore(deps, {
      host: hostId,
      operation: 'volume-snapshot',
      payload: {
        operation: { id: params.operation.id, store: storeId, volumeId },
        snapshotId: id,
      },
      work,
      signal,
      isWanted: async () => (await findVolumeSnapshot(deps.db, id))?.sagaId === sagaId,
    })
  },
  // The snapshot then shows that it failed: its user deletes it.
  undo: 'none',
}

const finish: LocalStep<Conductor, CreateVolumeSnapshotParams> = {
  kind: 'local',
  name: 'finish',
  run: async (tx, call) => {
    const { deps, params, sagaId } = call
    const done = call.output<VolumeDone>('make')!
    if (done.outcome === 'unwanted') return null
    const seen = creatingSnapshot(params, sagaId)
    const to: VolumeSnapshot = {
      ...seen,
      version: seen.version + 1,
      state: done.outcome === 'done' ? 'available' : 'error',
      fault: done.outcome === 'done' ? null : done.reason,
      sagaId: null,
      updatedAt: deps.clock.now(),
    }
    if (await updateSeenSnapshot(tx, seen, to)) queueSnapshotChange(tx, deps, to, call.work)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Tells gateways of the snapshot as it is once the transaction has committed, and of the request whose work has ended. */
export function queueSnapshotChange(
  tx: Tx,
  deps: Conductor,
  snapshot: VolumeSnapshot,
  work?: WorkContext,
): void {
  const of = work && requestOf(work)
  queueFeedRow(tx, [{ kind: 'volume-snapshot', view: volumeSnapshotView(snapshot), ...of }])
  tx.afterCommit(deps.feedChanged)
}

/**
 * Returns the room of a snapshot that was just removed, and tells gateways that the cell has nothing left of it, and of the
 * request whose work has ended.
 */
export function queueSnapshotGone(
  tx: Tx,
  deps: Conductor,
  snapshot: VolumeSnapshot,
  work?: WorkContext,
): void {
  const { id: snapshotId } = snapshot
  const of = work && requestOf(work)
  queueStoreReturn(tx, snapshot)
  queueSnapshotEnd(tx, snapshot)
  queueFeedRow(tx, [{ kind: 'volume-snapshot-deleted', snapshotId, at: deps.clock.now(), ...of }])
  tx.afterCommit(deps.feedChanged)
}

/** Keeps the content that a volume has now. Afterwards the snapshot is `available`, or in `error` and nothing of it is in the store. */
export const createVolumeSnapshotSaga: Saga<Conductor, CreateVolumeSnapshotParams> = {
  name: 'create-volume-snapshot',
  version: 1,
  steps: [claim, make, finish],
}
