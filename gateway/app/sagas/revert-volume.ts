import { Failure } from '#common/errors.ts'
import type { VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { LocalStep, Saga } from '#common/saga/saga.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Target } from './next-cell.ts'
import { askStep, giveUp, isReady, settleStep } from './volume-work.ts'

export type RevertVolumeParams = {
  readonly volumeId: VolumeId
  readonly snapshotId: VolumeSnapshotId
  /** Of the wire's request. */
  readonly operationId: string
}

/** Throws `conflict` when the volume cannot be reverted any more. */
const mark: LocalStep<ComputeDeps, RevertVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params: { volumeId }, sagaId }): Promise<Target> => {
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined || !isReady(volume, false))
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    if (volume.cellId === null) throw new Failure('conflict', `Volume ${volumeId} is in no cell.`)
    await writeLockedVolume(tx, volumeId, { status: 'reverting', sagaId }, { isIntent: true })
    return { cellId: volume.cellId, attempt: volume.attempt }
  },
  undo: async (tx, call) => {
    await giveUp(tx, call, { fault: 'The revert ended unexpectedly.' })
  },
}

const ask = askStep<RevertVolumeParams>(({ deps, params, work }, { cell, operation }) => {
  const { snapshotId } = params
  return deps.askCell(cell, 'volume.revert', { operation, snapshotId }, { work })
})

const settle = settleStep<RevertVolumeParams>(async (tx, call, fault) => {
  await giveUp(tx, call, { fault })
})

/**
 * Gives a volume the content of its snapshot. Done when the cell has begun or refused; the end of the work reaches the
 * gateway through the cell's feed.
 */
export const revertVolumeSaga: Saga<ComputeDeps, RevertVolumeParams> = {
  name: 'revert-volume',
  version: 1,
  steps: [mark, ask, settle],
}
