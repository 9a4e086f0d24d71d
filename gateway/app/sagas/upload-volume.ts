import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { UploadFormat } from '#openapi/wire/cell-volume.ts'
import { attachmentsOfVolumes } from '../../db/volume-attachments.ts'
import { lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import type { Target } from './next-cell.ts'
import { type Asked, accept, giveUp, isReady } from './volume-work.ts'

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

const ask: RemoteStep<ComputeDeps, UploadVolumeParams> = {
  kind: 'remote',
  name: 'ask',
  forwardOnly: true,
  run: async ({ deps, params, work, output }): Promise<Asked> => {
    const { volumeId, operationId, order, diskFormat } = params
    const { cellId, attempt } = output<Target>('mark')!
    const cell = deps.cells.cell(cellId) ?? { id: cellId, name: cellId }
    const { imageId } = order
    const target = { imageId, ticket: deps.images.fillTicket(imageId, cellId) }
    const [attachment] = await attachmentsOfVolumes(deps.db, [volumeId])
    const user = attachment === undefined ? {} : { serverId: attachment.serverId }
    const operation = { id: operationId, volumeId, attempt }
    try {
      const payload = { operation, target, diskFormat, ...user }
      const { view } = await deps.askCell(cell, 'volume.upload', payload, { work })
      return { outcome: 'accepted', view }
    } catch (error) {
      if (!isFailure(error, 'conflict', 'not-found', 'unsupported', 'invalid')) throw error
      return { outcome: 'refused', reason: error.message }
    }
  },
  undo: 'none',
}

const settle: LocalStep<ComputeDeps, UploadVolumeParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, call) => {
    const asked = call.output<Asked>('ask')!
    if (asked.outcome === 'refused') await withdraw(tx, call, asked.reason)
    else await accept(tx, call, asked.view)
    return null
  },
  undo: 'none',
}

/** Afterwards the volume is as before, with the reason, and there is no image. */
async function withdraw(tx: Tx, call: UploadCall, fault: string): Promise<void> {
  await call.deps.images.withdraw(tx, call.params.order.imageId)
  await giveUp(tx, call, { fault })
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
