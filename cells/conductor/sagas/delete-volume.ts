import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeAttemptRef } from '#openapi/wire/cell-volume.ts'
import { findVolume, removeOwnVolume, updateSeenVolume } from '../../db/volumes.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import { queueVolumeChange, queueVolumeGone } from './create-volume.ts'

export interface DeleteVolumeParams {
  readonly operation: VolumeAttemptRef
  /** As it was when the delete was decided on. */
  readonly volume: Volume
}

type DeleteCall = StepCall<Conductor, DeleteVolumeParams>

/** The volume once the delete has it. */
export function deletingVolume({ volume }: DeleteVolumeParams, sagaId: SagaId): Volume {
  return { ...volume, version: volume.version + 1, state: 'deleting', sagaId }
}

/** Takes the volume from the saga that was changing it; throws `conflict` when it has changed since it was read. */
const take: LocalStep<Conductor, DeleteVolumeParams> = {
  kind: 'local',
  name: 'take',
  run: async (tx, { params, sagaId }) => {
    const { volume } = params
    if (await updateSeenVolume(tx, volume, deletingVolume(params, sagaId))) return null
    throw new Failure('conflict', `Volume ${volume.id} has just changed.`)
  },
  // A delete is never taken back.
  undo: 'none',
}

const destroy: RemoteStep<Conductor, DeleteVolumeParams> = {
  kind: 'remote',
  name: 'destroy',
  run: async ({ deps, params, work, sagaId }, signal) => {
    const { operation, volume } = params
    return workOnStore(deps, {
      host: await hostOfVolume(deps, volume),
      operation: 'volume-destroy',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  forwardOnly: true,
  undo: 'none',
}

const forget: LocalStep<Conductor, DeleteVolumeParams> = {
  kind: 'local',
  name: 'forget',
  run: async (tx, call) => {
    const { deps, params, sagaId } = call
    const done = call.output<VolumeDone>('destroy')!
    if (done.outcome === 'failed') return keep(tx, call, done.reason)
    const now = await findVolume(tx, params.volume.id)
    if (now !== undefined && (await removeOwnVolume(tx, sagaId, now)))
      queueVolumeGone(tx, deps, now, call.work)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Afterwards the volume waits in `error-deleting` for another delete: its store still has it. */
async function keep(tx: Tx, call: DeleteCall, reason: string): Promise<null> {
  const { deps, params, sagaId, work } = call
  const seen = deletingVolume(params, sagaId)
  const to: Volume = {
    ...seen,
    version: seen.version + 1,
    state: 'error-deleting',
    fault: reason,
    sagaId: null,
    updatedAt: deps.clock.now(),
  }
  if (await updateSeenVolume(tx, seen, to)) queueVolumeChange(tx, deps, to, work)
  return null
}

/** Destroys a volume in any state; a saga that makes or extends it is preempted. Its store may refuse, and then it is kept. */
export const deleteVolumeSaga: Saga<Conductor, DeleteVolumeParams> = {
  name: 'delete-volume',
  version: 1,
  steps: [take, destroy, forget],
}
