import { Failure } from '#common/errors.ts'
import type { CellId, VolumeSnapshotId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeSnapshotDeleteAnswer } from '#openapi/wire/cell-volume-snapshot.ts'
import { findSnapshot, lockSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import type { ComputeDeps } from '../compute.ts'
import { applySnapshotView, recordSnapshotGone } from '../volume-snapshots/apply-view.ts'
import { DELETABLE_SNAPSHOT } from '../volume-snapshots/volume-snapshot.ts'

export interface DeleteVolumeSnapshotParams {
  readonly snapshotId: VolumeSnapshotId
  readonly operationId: string
  /** True: in any status, and for a delete that is repeated. */
  readonly isForced: boolean
}

type DeleteCall = StepCall<ComputeDeps, DeleteVolumeSnapshotParams>

/** `cellId`: the cell that has the snapshot; null: no cell has, and it is gone already. */
type Marked = { readonly cellId: CellId | null }

/** Throws `not-found`, and `conflict` in a status that forbids it. */
const mark: LocalStep<ComputeDeps, DeleteVolumeSnapshotParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }): Promise<Marked> => {
    const { snapshotId, isForced } = params
    const snapshot = await lockSnapshot(tx, snapshotId)
    if (snapshot === undefined)
      throw new Failure('not-found', `Snapshot ${snapshotId} could not be found.`)
    if (!isForced && !DELETABLE_SNAPSHOT.includes(snapshot.status))
      throw new Failure('conflict', `Snapshot ${snapshotId} is ${snapshot.status}.`)
    const change = { isDeleting: true, status: 'deleting', sagaId } as const
    await writeLockedSnapshot(tx, snapshotId, change, { isIntent: true })
    const { cellId } = snapshot
    if (cellId === null) await recordSnapshotGone(tx, null, { ...snapshot, ...change })
    return { cellId }
  },
  // A delete is never taken back: a reconciler goes on with snapshots that are marked.
  undo: 'none',
}

function cellOf(call: DeleteCall): CellId | undefined {
  return call.output<Marked>('mark')?.cellId ?? undefined
}

const ask: RemoteStep<ComputeDeps, DeleteVolumeSnapshotParams> = {
  kind: 'remote',
  name: 'ask',
  when: (call) => cellOf(call) !== undefined,
  forwardOnly: true,
  run: async (call): Promise<VolumeSnapshotDeleteAnswer> => {
    const { deps, params, work } = call
    const cellId = cellOf(call)!
    const cell = deps.cells.cell(cellId)
    // Nothing that a lost cell has of a snapshot counts once the snapshot was taken from it.
    if (cell?.isLost === true && (await findSnapshot(deps.db, params.snapshotId)) === undefined)
      return { outcome: 'deleted' }
    // Asking an unreachable cell would only wait for the deadline.
    if (cell !== undefined && !cell.isReachable)
      throw new Failure('unavailable', `Cell ${cell.name} sends no heartbeats.`)
    const operation = { id: params.operationId, snapshotId: params.snapshotId }
    const asked = cell ?? { id: cellId, name: cellId }
    return deps.askCell(asked, 'volume-snapshot.delete', { operation }, { work })
  },
  undo: 'none',
}

const settle: LocalStep<ComputeDeps, DeleteVolumeSnapshotParams> = {
  kind: 'local',
  name: 'settle',
  when: (call) => call.output('ask') !== undefined,
  forwardOnly: true,
  run: async (tx, call) => {
    const cellId = cellOf(call)!
    const answer = call.output<VolumeSnapshotDeleteAnswer>('ask')!
    const snapshot = await lockSnapshot(tx, call.params.snapshotId)
    if (snapshot === undefined || snapshot.sagaId !== call.sagaId) return null
    const released = { ...snapshot, sagaId: null }
    await writeLockedSnapshot(tx, snapshot.id, { sagaId: null }, { isIntent: true })
    if (answer.outcome === 'deleted') await recordSnapshotGone(tx, cellId, released)
    else await applySnapshotView(tx, cellId, released, answer.view)
    return null
  },
  undo: 'none',
}

/**
 * Deletes a snapshot. Done when the cell has committed 'deleted', or has begun: then its feed reports the end, which
 * removes the row, and a reconciler repeats the request if the report was lost.
 */
export const deleteVolumeSnapshotSaga: Saga<ComputeDeps, DeleteVolumeSnapshotParams> = {
  name: 'delete-volume-snapshot',
  version: 1,
  steps: [mark, ask, settle],
}
