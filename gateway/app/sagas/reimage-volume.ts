import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, Saga, StepCall } from '#common/saga/saga.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'
import type { SourceImage } from '../volumes/volume.ts'
import type { Target } from './next-cell.ts'
import { askStep, giveUp, isReady, settleStep } from './volume-work.ts'

export type ReimageVolumeParams = {
  readonly volumeId: VolumeId
  /** Of the wire's request. */
  readonly operationId: string
  readonly image: SourceImage
  /** What the volume says of its image then. */
  readonly imageMetadata: Readonly<Record<string, string>>
}

/** Throws `conflict` when the volume cannot be given other content any more. */
const mark: LocalStep<ComputeDeps, ReimageVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }): Promise<Target> => {
    const { volumeId, imageMetadata: nextImageMetadata } = params
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined || !isReady(volume, false))
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    if (volume.cellId === null) throw new Failure('conflict', `Volume ${volumeId} is in no cell.`)
    const change = { status: 'downloading', sagaId, nextImageMetadata } as const
    await writeLockedVolume(tx, volumeId, change, { isIntent: true })
    return { cellId: volume.cellId, attempt: volume.attempt }
  },
  undo: (tx, call) => withdraw(tx, call, 'The re-image ended unexpectedly.'),
}

const ask = askStep<ReimageVolumeParams>(({ deps, params, work }, { cell, operation }) => {
  const image = { ...params.image, ticket: deps.imageTicket(params.image.id, cell.id) }
  return deps.askCell(cell, 'volume.reimage', { operation, image }, { work })
})

const settle = settleStep<ReimageVolumeParams>(withdraw)

/** Afterwards the volume is as before, with the reason. */
async function withdraw(
  tx: Tx,
  call: StepCall<ComputeDeps, ReimageVolumeParams>,
  fault: string,
): Promise<void> {
  const volume = await giveUp(tx, call, { fault })
  if (volume === undefined) return
  await writeLockedVolume(tx, volume.id, { nextImageMetadata: null }, { isIntent: false })
  await addFailureMessage(tx, 'reimaging', failedOn(volume, call.work))
}

/**
 * Gives a volume the content of an image. Done when the cell has begun or refused; the end of the work reaches the gateway
 * through the cell's feed.
 */
export const reimageVolumeSaga: Saga<ComputeDeps, ReimageVolumeParams> = {
  name: 'reimage-volume',
  version: 1,
  steps: [mark, ask, settle],
}
