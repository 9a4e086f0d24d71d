import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import type { LocalStep, StepCall } from '#common/saga/saga.ts'
import type { VolumeAttemptRef, VolumeState } from '#openapi/wire/cell-volume.ts'
import { updateSeenVolume } from '../../db/volumes.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { Conductor } from '../conductor.ts'
import type { VolumeDone } from '../work-on-store.ts'
import { queueVolumeChange } from './create-volume.ts'

// What sagas have in common that have a host do something with a volume, which is available before and afterwards.

export interface VolumeTaskParams {
  readonly operation: VolumeAttemptRef
  /** As it was when the request was found possible. */
  readonly volume: Volume
}

/** The volume while its host is at work on it. */
export function atWork({ volume }: VolumeTaskParams, state: VolumeState, sagaId: SagaId): Volume {
  return { ...volume, version: volume.version + 1, state, sagaId }
}

/** The first step. Throws `conflict` when the volume has changed since it was read. */
export function markStep<P extends VolumeTaskParams>(
  state: VolumeState,
  unexpected: string,
): LocalStep<Conductor, P> {
  return {
    kind: 'local',
    name: 'mark',
    run: async (tx, { params, sagaId }) => {
      if (await updateSeenVolume(tx, params.volume, atWork(params, state, sagaId))) return null
      throw new Failure('conflict', `Volume ${params.volume.id} has just changed.`)
    },
    undo: (tx, call) =>
      end(tx, call, atWork(call.params, state, call.sagaId), {
        outcome: 'failed',
        reason: unexpected,
      }),
  }
}

/** The last step, after that of the host, which is named `work`. `made`: what else the volume is if that is done. */
export function finishStep<P extends VolumeTaskParams>(
  state: VolumeState,
  made: (params: P) => Partial<Pick<Volume, 'imageId'>> = () => ({}),
): LocalStep<Conductor, P> {
  return {
    kind: 'local',
    name: 'finish',
    run: async (tx, call) => {
      const { params, sagaId, output } = call
      const done = output<VolumeDone>('work')!
      const change = done.outcome === 'done' ? made(params) : {}
      await end(tx, call, atWork(params, state, sagaId), done, change)
      return null
    },
    forwardOnly: true,
    undo: 'none',
  }
}

/** Afterwards the volume is free of this saga, unless a delete has taken it. */
async function end(
  tx: Tx,
  { deps, work }: Pick<StepCall<Conductor, VolumeTaskParams>, 'deps' | 'work'>,
  seen: Volume,
  done: VolumeDone,
  made: Partial<Pick<Volume, 'imageId'>> = {},
): Promise<void> {
  const to: Volume = {
    ...seen,
    ...made,
    version: seen.version + 1,
    state: 'available',
    fault: done.outcome === 'failed' ? done.reason : null,
    sagaId: null,
    updatedAt: deps.clock.now(),
  }
  if (await updateSeenVolume(tx, seen, to)) queueVolumeChange(tx, deps, to, work)
}
