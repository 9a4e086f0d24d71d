import type { RemoteStep, Saga } from '#common/saga/saga.ts'
import { findVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import { imageForHost } from '../../volumes/source.ts'
import type { Conductor } from '../conductor.ts'
import { workOnStore } from '../work-on-store.ts'
import { finishStep, markStep, type VolumeTaskParams } from './volume-task.ts'

export interface ReimageVolumeParams extends VolumeTaskParams {
  readonly imageId: string
  /** The image with its ticket, which is a secret. */
  readonly sealedImage: string
}

const reimage: RemoteStep<Conductor, ReimageVolumeParams> = {
  kind: 'remote',
  name: 'work',
  forwardOnly: true,
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume, sealedImage } = params
    return workOnStore(deps, {
      host: await hostOfVolume(deps, volume),
      operation: 'volume-reimage',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        from: { image: imageForHost(deps, sealedImage) },
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // A host gives a volume that is half written to no guest, and the next one makes it whole.
  undo: 'none',
}

/** Gives a volume the content of an image. Afterwards it is available, with the reason as its fault if that failed. */
export const reimageVolumeSaga: Saga<Conductor, ReimageVolumeParams> = {
  name: 'reimage-volume',
  version: 1,
  steps: [
    markStep('downloading', 'The volume was not given the content of the image.'),
    reimage,
    finishStep('downloading', ({ imageId }) => ({ imageId })),
  ],
  withoutSecrets: (params) => ({ ...params, sealedImage: '' }),
}
