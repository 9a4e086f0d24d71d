import type { Static } from 'typebox'
import type { HostId } from '#common/ids.ts'
import type { RemoteStep, Saga } from '#common/saga/saga.ts'
import type { ImageTarget } from '#openapi/wire/act.ts'
import type { UploadFormat } from '#openapi/wire/cell-volume.ts'
import { findVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { Conductor } from '../conductor.ts'
import { workOnStore } from '../work-on-store.ts'
import { finishStep, markStep, type VolumeTaskParams } from './volume-task.ts'

type Target = Static<typeof ImageTarget>

export interface UploadVolumeParams extends VolumeTaskParams {
  /** The image with its ticket, which is a secret. */
  readonly sealedTarget: string
  readonly diskFormat: UploadFormat
  /** The volume is encrypted, and so is the image; absent: it is not. */
  readonly isSealed?: true
  /** The host of the guest that uses it; absent: any that reaches its store. */
  readonly hostId?: HostId
}

const SEALED_FOR = 'image that a volume is uploaded to'

/** The image as the log of a saga may have it. */
export function sealedTarget({ secrets }: Pick<Conductor, 'secrets'>, target: Target): string {
  return secrets.seal(JSON.stringify(target), SEALED_FOR)
}

const upload: RemoteStep<Conductor, UploadVolumeParams> = {
  kind: 'remote',
  name: 'work',
  forwardOnly: true,
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume, hostId, diskFormat, isSealed } = params
    const target = JSON.parse(deps.secrets.open(params.sealedTarget, SEALED_FOR)) as Target
    return workOnStore(deps, {
      host: hostId ?? (await hostOfVolume(deps, volume)),
      operation: 'volume-export',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        ...{ target, diskFormat, ...(isSealed && { isSealed }) },
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // The gateway removes an image that was not filled.
  undo: 'none',
}

/** Fills an image with a volume's content. Afterwards the volume is as before, with the reason as its fault if that failed. */
export const uploadVolumeSaga: Saga<Conductor, UploadVolumeParams> = {
  name: 'upload-volume',
  version: 1,
  steps: [markStep('uploading', 'The upload ended unexpectedly.'), upload, finishStep('uploading')],
  withoutSecrets: (params) => ({ ...params, sealedTarget: '' }),
}
