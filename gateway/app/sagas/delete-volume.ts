import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeDeleteAnswer } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { lockSnapshot, snapshotsOfVolume, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import { findVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { DELETABLE_SNAPSHOT } from '../volume-snapshots/volume-snapshot.ts'
import { applyVolumeView, recordVolumeGone } from '../volumes/apply-view.ts'
import { DELETABLE, type Volume } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'

export interface DeleteVolumeParams {
  readonly volumeId: VolumeId
  readonly operationId: string
  /** True: in any status, and for a delete that is repeated. */
  readonly isForced: boolean
  /** Its snapshots go before it; absent: it is refused while there are some. */
  readonly withSnapshots?: true
}

type DeleteCall = StepCall<ComputeDeps, DeleteVolumeParams>

/** `target`: the cell that has the volume; null: no cell has, and it is gone already. */
type Marked = { readonly target: Target | null }

/** Throws `not-found`, and `conflict` in a status that forbids it and for snapshots that stay. */
const mark: LocalStep<ComputeDeps, DeleteVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }): Promise<Marked> => {
    const { volumeId, isForced } = params
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined)
      throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
    if (!isForced && !DELETABLE.includes(volume.status))
      throw new Failure('conflict', `Volume ${volumeId} is ${volume.status}.`)
    if ((await attachmentsOfVolumes(tx, [volumeId])).length > 0)
      throw new Failure('conflict', `Volume ${volumeId} is attached.`)
    if (!volume.isDeleting) await takeSnapshots(tx, volume, params)
    const change = { isDeleting: true, status: 'deleting', sagaId } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: true })
    const { cellId, attempt } = volume
    if (cellId !== null) return { target: { cellId, attempt } }
    await recordVolumeGone(tx, null, { ...volume, ...change }, attempt)
    return { target: null }
  },
  // A delete is never taken back: a reconciler goes on with volumes that are marked.
  undo: 'none',
}

/** Afterwards the snapshots of a locked volume are being deleted. Throws `conflict` when they may not be, as those that another project kept. */
async function takeSnapshots(
  tx: Tx,
  { projectId }: Volume,
  { volumeId, isForced, withSnapshots }: DeleteVolumeParams,
): Promise<void> {
  for (const { id } of await snapshotsOfVolume(tx, volumeId)) {
    const snapshot = await lockSnapshot(tx, id)
    if (snapshot === undefined || snapshot.isDeleting) continue
    if (withSnapshots !== true || snapshot.projectId !== projectId)
      throw new Failure('conflict', `Volume ${volumeId} has snapshots.`)
    if (!isForced && !DELETABLE_SNAPSHOT.includes(snapshot.status))
      throw new Failure('conflict', `Snapshot ${id} is ${snapshot.status}.`)
    const change = { isDeleting: true, status: 'deleting', sagaId: null } as const
    await writeLockedSnapshot(tx, id, change, { isIntent: true })
  }
}

function targetOf(call: DeleteCall): Target | undefined {
  return call.output<Marked>('mark')?.target ?? undefined
}

const ask: RemoteStep<ComputeDeps, DeleteVolumeParams> = {
  kind: 'remote',
  name: 'ask',
  when: (call) => targetOf(call) !== undefined,
  forwardOnly: true,
  run: async (call): Promise<VolumeDeleteAnswer> => {
    const { deps, params, work } = call
    const { cellId, attempt } = targetOf(call)!
    const cell = deps.cells.cell(cellId)
    if (cell?.isLost === true && (await isTakenFrom(call))) return { outcome: 'deleted' }
    if ((await snapshotsOfVolume(deps.db, params.volumeId)).length > 0)
      throw new Failure('unavailable', `Volume ${params.volumeId} has snapshots, which go first.`)
    // Asking an unreachable cell would only wait for the deadline.
    if (cell !== undefined && !cell.isReachable)
      throw new Failure('unavailable', `Cell ${cell.name} sends no heartbeats.`)
    const operation = { id: params.operationId, volumeId: params.volumeId, attempt }
    return deps.askCell(
      cell ?? { id: cellId, name: cellId },
      'volume.delete',
      { operation },
      { work },
    )
  },
  undo: 'none',
}

/** Nothing that a lost cell has of a volume counts once the volume was taken from it. */
async function isTakenFrom(call: DeleteCall): Promise<boolean> {
  const volume = await findVolume(call.deps.db, call.params.volumeId)
  return volume?.attempt !== targetOf(call)!.attempt
}

const settle: LocalStep<ComputeDeps, DeleteVolumeParams> = {
  kind: 'local',
  name: 'settle',
  when: (call) => call.output('ask') !== undefined,
  forwardOnly: true,
  run: async (tx, call) => {
    const { cellId, attempt } = targetOf(call)!
    const answer = call.output<VolumeDeleteAnswer>('ask')!
    const volume = await lockVolume(tx, call.params.volumeId)
    if (volume === undefined || volume.sagaId !== call.sagaId) return null
    const released = { ...volume, sagaId: null }
    await writeLockedVolume(tx, volume.id, { sagaId: null }, { isIntent: true })
    if (answer.outcome === 'deleted') await recordVolumeGone(tx, cellId, released, attempt)
    else await applyVolumeView(tx, cellId, released, answer.view)
    return null
  },
  undo: 'none',
}

/**
 * Deletes a volume. Done when the cell has committed 'deleted', or has begun: then its feed reports the end, which
 * removes the row, and a reconciler repeats the request if the report was lost.
 */
export const deleteVolumeSaga: Saga<ComputeDeps, DeleteVolumeParams> = {
  name: 'delete-volume',
  version: 1,
  steps: [mark, ask, settle],
}
