import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { UploadFormat } from '#openapi/wire/cell-volume.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import { addFailureMessage, failedOn } from '../volumes/messages.ts'
import type { Target } from './next-cell.ts'
import { askStep, giveUp, isReady, settleStep } from './volume-work.ts'

export type UploadVolumeParams = {
  readonly volumeId: VolumeId
  /** Of the wire's request. */
  readonly operationId: string
  readonly order: SnapshotOrder
  readonly diskFormat: UploadFormat
  /** Also while a server uses it; absent: it has to be free. */
  readonly mayBeInUse?: true
}

type UploadCall = StepCall<ComputeDeps, UploadVolumeParams>

/** Throws `conflict` when the volume cannot be uploaded any more, and `over-quota` for images. */
const mark: LocalStep<ComputeDeps, UploadVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { deps, params, sagaId }): Promise<Target> => {
    const { volumeId, order, mayBeInUse } = params
    const volume = await lockVolume(tx, volumeId)
    if (volume === undefined || !isReady(volume, mayBeInUse === true))
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    if (volume.cellId === null) throw new Failure('conflict', `Volume ${volumeId} is in no cell.`)
    await deps.images.reserve(tx, order)
    await writeLockedVolume(tx, volumeId, { status: 'uploading', sagaId }, { isIntent: true })
    return { cellId: volume.cellId, attempt: volume.attempt }
  },
  undo: (tx, call) => withdraw(tx, call, 'The upload ended unexpectedly.'),
}

const ask = askStep<UploadVolumeParams>(({ deps, params, work }, { cell, operation, user }) => {
  const { order, diskFormat } = params
  const target = {
    imageId: order.imageId,
    ticket: deps.images.fillTicket(order.imageId, cell.id),
  }
  return deps.askCell(cell, 'volume.upload', { operation, target, diskFormat, ...user }, { work })
})

const settle = settleStep<UploadVolumeParams>(withdraw)

/** Afterwards the volume is as before, with the reason, and there is no image. */
async function withdraw(tx: Tx, call: UploadCall, fault: string): Promise<void> {
  await call.deps.images.withdraw(tx, call.params.order.imageId)
  const volume = await giveUp(tx, call, { fault })
  if (volume !== undefined) await addFailureMessage(tx, 'uploading', failedOn(volume, call.work))
}

/**
 * Makes an image of a volume. Done when the cell has begun or refused; the end of the work reaches the gateway through the
 * cell's feed, and the content through the image service. An image that is not filled is removed.
 */
export const uploadVolumeSaga: Saga<ComputeDeps, UploadVolumeParams> = {
  name: 'upload-volume',
  version: 1,
  steps: [mark, ask, settle],
}
