import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeAttemptRef } from '#openapi/wire/cell-volume.ts'
import { queueStoreClaim, queueStoreReturn } from '../../db/stores.ts'
import { findVolume, updateSeenVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import { GIB } from '../../volumes/store.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import { queueVolumeChange } from './create-volume.ts'

export interface ExtendVolumeParams {
  readonly operation: VolumeAttemptRef
  /** As it was when the request was found possible. */
  readonly volume: Volume
  readonly sizeGb: number
  /** The host of the guest that uses it; absent: any that reaches its store. */
  readonly hostId?: HostId
  /** The most that the store may promise in all. */
  readonly limitGb: number
}

type ExtendCall = StepCall<Conductor, ExtendVolumeParams>

/** The volume while its store extends it. */
export function extending({ volume }: ExtendVolumeParams, sagaId: SagaId): Volume {
  return { ...volume, version: volume.version + 1, state: 'extending', sagaId }
}

/** The room that the volume takes besides what it has. */
function growth({ volume, sizeGb }: ExtendVolumeParams) {
  return { storeId: volume.storeId, sizeGb: sizeGb - volume.sizeGb }
}

/** Throws `conflict` when the volume has changed since it was read, and `no-capacity` when its store has no room. */
const claim: LocalStep<Conductor, ExtendVolumeParams> = {
  kind: 'local',
  name: 'claim',
  run: async (tx, { params, sagaId }) => {
    const { volume, limitGb } = params
    queueStoreClaim(tx, growth(params), limitGb)
    if (await updateSeenVolume(tx, volume, extending(params, sagaId))) return null
    throw new Failure('conflict', `Volume ${volume.id} has just changed.`)
  },
  undo: (tx, call) => end(tx, call, { outcome: 'failed', reason: 'It ended unexpectedly.' }),
}

const extend: RemoteStep<Conductor, ExtendVolumeParams> = {
  kind: 'remote',
  name: 'extend',
  forwardOnly: true,
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume, sizeGb, hostId } = params
    return workOnStore(deps, {
      host: hostId ?? (await hostOfVolume(deps, volume)),
      operation: 'volume-extend',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        bytes: sizeGb * GIB,
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // A volume is never shrunk: its content would be lost.
  undo: 'none',
}

const finish: LocalStep<Conductor, ExtendVolumeParams> = {
  kind: 'local',
  name: 'finish',
  run: async (tx, call) => {
    await end(tx, call, call.output<VolumeDone>('extend')!)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Once a delete has taken the volume it returns the room of the extension alone: the delete returns the rest. */
async function end(tx: Tx, call: ExtendCall, done: VolumeDone): Promise<void> {
  const { deps, params, sagaId, work } = call
  const seen = extending(params, sagaId)
  const isDone = done.outcome === 'done'
  const to: Volume = {
    ...seen,
    version: seen.version + 1,
    state: 'available',
    sizeGb: isDone ? params.sizeGb : seen.sizeGb,
    fault: done.outcome === 'failed' ? done.reason : null,
    sagaId: null,
    updatedAt: deps.clock.now(),
  }
  const isOurs = await updateSeenVolume(tx, seen, to)
  if (!isDone || !isOurs) queueStoreReturn(tx, growth(params))
  if (isOurs) queueVolumeChange(tx, deps, to, work)
}

/** Makes a volume larger. Afterwards it is `available` with the new size, or with its former size and the reason as its fault. */
export const extendVolumeSaga: Saga<Conductor, ExtendVolumeParams> = {
  name: 'extend-volume',
  version: 1,
  steps: [claim, extend, finish],
}
