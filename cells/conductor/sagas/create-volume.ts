import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import type { HostId, SagaId, VolumeId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga } from '#common/saga/saga.ts'
import type { VolumeAttemptRef, VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { queueStoreClaim, queueStoreReturn } from '../../db/stores.ts'
import { queueVolumeKey, queueVolumeKeyGone, type SealedVolumeKey } from '../../db/volume-keys.ts'
import {
  findVolume,
  queueVolume,
  queueVolumeEnd,
  removeOwnVolume,
  updateSeenVolume,
} from '../../db/volumes.ts'
import type { VolumePlace } from '../../volumes/choose-store.ts'
import { contentForHost, type VolumeContent } from '../../volumes/source.ts'
import { GIB } from '../../volumes/store.ts'
import { type Volume, volumeView } from '../../volumes/volume.ts'
import { requestOf } from '../action-event.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'

export interface CreateVolumeParams {
  readonly operation: VolumeAttemptRef
  readonly projectId: string
  readonly sizeGb: number
  readonly place: VolumePlace
  /** What its content is made from; absent: it begins empty. */
  readonly source?: VolumeContent
  /** Absent: it is not encrypted. */
  readonly encryption?: VolumeEncryption
  /** Of an encrypted volume, which gives it to the hosts that open it. */
  readonly key?: SealedVolumeKey
  /** The most that the store may promise in all. */
  readonly limitGb: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** The volume while its content is made. */
export function creating(
  { operation, projectId, sizeGb, place, startedAt }: CreateVolumeParams,
  sagaId: SagaId,
): Volume {
  return {
    ...place,
    id: operation.volumeId as VolumeId,
    attempt: operation.attempt,
    version: 1,
    projectId,
    state: 'creating',
    sizeGb,
    fault: null,
    imageId: null,
    sagaId,
    updatedAt: startedAt,
  }
}

/** Afterwards the cell has the volume and its room. Throws `no-capacity` when the store has filled up meanwhile. */
const claim: LocalStep<Conductor, CreateVolumeParams> = {
  kind: 'local',
  name: 'claim',
  run: (tx, { params, sagaId }) => {
    const { place, sizeGb, limitGb, key } = params
    queueVolume(tx, creating(params, sagaId))
    if (key !== undefined) queueVolumeKey(tx, key)
    queueStoreClaim(tx, { storeId: place.storeId, sizeGb }, limitGb)
    return Promise.resolve(null)
  },
  undo: async (tx, call) => {
    const volume = creating(call.params, call.sagaId)
    if (await removeOwnVolume(tx, call.sagaId, volume)) queueVolumeGone(tx, call.deps, volume)
  },
}

const create: RemoteStep<Conductor, CreateVolumeParams> = {
  kind: 'remote',
  name: 'create',
  forwardOnly: true,
  run: ({ deps, params, work, sagaId }, signal) => {
    const { operation, place, sizeGb, source, encryption } = params
    const volume = creating(params, sagaId)
    return workOnStore(deps, {
      host: place.hostId as HostId,
      operation: 'volume-create',
      payload: {
        operation: { id: operation.id, store: place.storeId, volumeId: volume.id },
        bytes: sizeGb * GIB,
        ...(source && { from: contentForHost(deps, source) }),
        ...(encryption && { encryption }),
      },
      work,
      signal,
      isWanted: async () => (await findVolume(deps.db, volume.id))?.sagaId === sagaId,
    })
  },
  // The volume then shows that it failed: its user deletes it.
  undo: 'none',
}

const finish: LocalStep<Conductor, CreateVolumeParams> = {
  kind: 'local',
  name: 'finish',
  run: async (tx, call) => {
    const { deps, params, sagaId } = call
    const done = call.output<VolumeDone>('create')!
    if (done.outcome === 'unwanted') return null
    const seen = creating(params, sagaId)
    const to: Volume = {
      ...seen,
      version: seen.version + 1,
      state: done.outcome === 'done' ? 'available' : 'error',
      fault: done.outcome === 'done' ? null : done.reason,
      sagaId: null,
      updatedAt: deps.clock.now(),
    }
    if (await updateSeenVolume(tx, seen, to)) queueVolumeChange(tx, deps, to, call.work)
    return null
  },
  forwardOnly: true,
  undo: 'none',
}

/** Tells gateways of the volume as it is once the transaction has committed, and of the request whose work has ended. */
export function queueVolumeChange(
  tx: Tx,
  deps: Conductor,
  volume: Volume,
  work?: WorkContext,
): void {
  const of = work && requestOf(work)
  queueFeedRow(tx, [{ kind: 'volume', view: volumeView(volume), ...of }])
  tx.afterCommit(deps.feedChanged)
}

/**
 * Returns the room of a volume that was just removed, and tells gateways that the cell has nothing left of it, and of the
 * request whose work has ended.
 */
export function queueVolumeGone(tx: Tx, deps: Conductor, volume: Volume, work?: WorkContext): void {
  const { id: volumeId, attempt } = volume
  const of = work && requestOf(work)
  queueStoreReturn(tx, volume)
  queueVolumeKeyGone(tx, volumeId)
  queueVolumeEnd(tx, volume)
  queueFeedRow(tx, [{ kind: 'volume-deleted', volumeId, attempt, at: deps.clock.now(), ...of }])
  tx.afterCommit(deps.feedChanged)
}

/** Makes a volume in a store that was chosen for it. Afterwards it is `available`, or in `error` and nothing of it is in the store. */
export const createVolumeSaga: Saga<Conductor, CreateVolumeParams> = {
  name: 'create-volume',
  version: 1,
  steps: [claim, create, finish],
  withoutSecrets: ({ key: _key, ...params }) => params,
}
