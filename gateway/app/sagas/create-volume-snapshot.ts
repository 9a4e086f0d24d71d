import type { VolumeSnapshotId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeSnapshotCreateAnswer } from '#openapi/wire/cell-volume-snapshot.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { findSnapshot, lockSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import { findVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { applySnapshotView, recordSnapshotGone } from '../volume-snapshots/apply-view.ts'
import type { VolumeSnapshot } from '../volume-snapshots/volume-snapshot.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'

export interface CreateVolumeSnapshotParams {
  readonly snapshotId: VolumeSnapshotId
  /** Of the wire's create. */
  readonly operationId: string
}

type CreateCall = StepCall<ComputeDeps, CreateVolumeSnapshotParams>
type Outcome = VolumeSnapshotCreateAnswer | { readonly outcome: 'superseded' }

const SUPERSEDED = { outcome: 'superseded' } as const

const ask: RemoteStep<ComputeDeps, CreateVolumeSnapshotParams> = {
  kind: 'remote',
  name: 'ask',
  forwardOnly: true,
  run: async (call): Promise<Outcome> => {
    const snapshot = await findOwn(call)
    if (snapshot === undefined) return SUPERSEDED
    try {
      return await askCreate(call, snapshot)
    } catch (error) {
      if ((await findOwn(call)) === undefined) return SUPERSEDED
      throw error
    }
  },
  undo: 'none',
}

/** The snapshot while no delete has taken it over. */
async function findOwn({ deps, params, sagaId }: CreateCall): Promise<VolumeSnapshot | undefined> {
  const snapshot = await findSnapshot(deps.db, params.snapshotId)
  return snapshot?.sagaId === sagaId && !snapshot.isDeleting ? snapshot : undefined
}

/** The cell's committed answer. Throws `unavailable` while there is none. */
async function askCreate(
  { deps, params, work }: CreateCall,
  { id: snapshotId, volumeId, cellId }: VolumeSnapshot,
): Promise<VolumeSnapshotCreateAnswer> {
  const volume = await findVolume(deps.db, volumeId)
  if (volume === undefined || cellId === null || volume.cellId !== cellId)
    return { outcome: 'refused', reason: `Volume ${volumeId} is not in its cell any more.` }
  const [attachment] = await attachmentsOfVolumes(deps.db, [volumeId])
  const user = attachment === undefined ? {} : { serverId: attachment.serverId }
  const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
  const operation = { id: params.operationId, snapshotId }
  const asked = { operation, volume: { volumeId, attempt: volume.attempt, ...user } }
  return deps.askCell(cell, 'volume-snapshot.create', asked, { work })
}

const settle: LocalStep<ComputeDeps, CreateVolumeSnapshotParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, { params, sagaId, output, work }) => {
    const answer = output<Outcome>('ask')!
    const snapshot = await lockSnapshot(tx, params.snapshotId)
    if (snapshot === undefined || snapshot.sagaId !== sagaId || snapshot.cellId === null)
      return null
    const { id, cellId } = snapshot
    const released = { ...snapshot, sagaId: null }
    await writeLockedSnapshot(tx, id, { sagaId: null }, { isIntent: false })
    if (answer.outcome === 'accepted') await applySnapshotView(tx, cellId, released, answer.view)
    if (answer.outcome === 'deleted') await recordSnapshotGone(tx, cellId, released)
    if (answer.outcome === 'refused') {
      const change = { status: 'error', cellId: null, fault: answer.reason } as const
      await writeLockedSnapshot(tx, id, change, { isIntent: false })
      await addFailureMessage(tx, 'creating-snapshot', failedOn(snapshot, work))
    }
    return null
  },
  undo: 'none',
}

/**
 * Makes a snapshot that was just accepted, in the cell of its volume. Done when the cell has begun or refused; the end of
 * the work reaches the gateway through the cell's feed.
 */
export const createVolumeSnapshotSaga: Saga<ComputeDeps, CreateVolumeSnapshotParams> = {
  name: 'create-volume-snapshot',
  version: 1,
  steps: [ask, settle],
}
