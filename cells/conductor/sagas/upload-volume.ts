import type { Static } from 'typebox'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import type { ImageTarget } from '#openapi/wire/act.ts'
import type { UploadFormat, VolumeAttemptRef } from '#openapi/wire/cell-volume.ts'
import { findVolume, updateSeenVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import { queueVolumeChange } from './create-volume.ts'

type Target = Static<typeof ImageTarget>

export interface UploadVolumeParams {
  readonly operation: VolumeAttemptRef
  /** As it was when the request was found possible. */
  readonly volume: Volume
  /** The image with its ticket, which is a secret. */
  readonly sealedTarget: string
  readonly diskFormat: UploadFormat
  /** The host of the guest that uses it; absent: any that reaches its store. */
  readonly hostId?: HostId
}

const SEALED_FOR = 'image that a volume is uploaded to'

/** The image as the log of a saga may have it. */
export function sealedTarget({ secrets }: Pick<Conductor, 'secrets'>, target: Target): string {
  return secrets.seal(JSON.stringify(target), SEALED_FOR)
}

/** The volume while its host reads it. */
export function uploading({ volume }: UploadVolumeParams, sagaId: SagaId): Volume {
  return { ...volume, version: volume.version + 1, state: 'uploading', sagaId }
}

/** Throws `conflict` when the volume has changed since it was read. */
const mark: LocalStep<Conductor, UploadVolumeParams> = {
  kind: 'local',
  name: 'mark',
  run: async (tx, { params, sagaId }) => {
    if (await updateSeenVolume(tx, params.volume, uploading(params, sagaId))) return null
    throw new Failure('conflict', `Volume ${params.volume.id} has just changed.`)
  },
  undo: (tx, { deps, params, sagaId }) =>
    end(tx, deps, uploading(params, sagaId), {
      outcome: 'failed',
      reason: 'The upload ended unexpectedly.',
    }),
}

const upload: RemoteStep<Conductor, UploadVolumeParams> = {
  kind: 'remote',
  name: 'upload',
  forwardOnly: true,
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume, hostId, diskFormat } = params
    const target = JSON.parse(deps.secrets.open(params.sealedTarget, SEALED_FOR)) as Target
    return workOnStore(deps, {
      host: hostId ?? (await hostOfVolume(deps, volume)),
      operation: 'volume-export',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        ...{ target, diskFormat },
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // The gateway removes an image that was not filled.
  undo: 'none',
}

const finish: LocalStep<Conductor, UploadVolumeParams> = {
  kind: 'local',
  name: 'finish',
  run: async (tx, { deps, params, sagaId, output }) => {
    await end(tx, deps, uploading(params, sagaId), output<VolumeDone>('upload')!)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Afterwards the volume is free of this saga, unless a delete has taken it. */
async function end(tx: Tx, deps: Conductor, seen: Volume, done: VolumeDone): Promise<void> {
  const to: Volume = {
    ...seen,
    version: seen.version + 1,
    state: 'available',
    fault: done.outcome === 'failed' ? done.reason : null,
    sagaId: null,
    updatedAt: deps.clock.now(),
  }
  if (await updateSeenVolume(tx, seen, to)) queueVolumeChange(tx, deps, to)
}

/** Fills an image with a volume's content. Afterwards the volume is as before, with the reason as its fault if that failed. */
export const uploadVolumeSaga: Saga<Conductor, UploadVolumeParams> = {
  name: 'upload-volume',
  version: 1,
  steps: [mark, upload, finish],
  withoutSecrets: (params) => ({ ...params, sealedTarget: '' }),
}
