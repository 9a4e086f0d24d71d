import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { LocalStep, RemoteStep, Saga, StepCall } from '#common/saga/saga.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import { queueStoreClaim, queueStoreReturn } from '../../db/stores.ts'
import { queueVolumeCopy, removeVolumeCopy } from '../../db/volume-copies.ts'
import { queueVolumeKey, queueVolumeKeyGone, type SealedVolumeKey } from '../../db/volume-keys.ts'
import { findVolume, moveSeenVolume, updateSeenVolume } from '../../db/volumes.ts'
import type { VolumePlace } from '../../volumes/choose-store.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import { GIB } from '../../volumes/store.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import { carryCopy, dropCopies, removeContent } from './carry-volume.ts'
import { queueVolumeChange } from './create-volume.ts'
import { atWork, type VolumeTaskParams } from './volume-task.ts'

export interface MigrateVolumeParams extends VolumeTaskParams {
  /** Where it goes. */
  readonly place: VolumePlace
  /** The most that this store may promise in all. */
  readonly limitGb: number
  /** How it is encrypted there; absent: not at all. */
  readonly encryption?: VolumeEncryption
  /** How it was encrypted before; null: not at all; absent: as it is there. */
  readonly before?: VolumeEncryption | null
  /** Of a volume that was not encrypted before, and is there. */
  readonly key?: SealedVolumeKey
  /** The copy of its content that goes to a host of the other store, and of the request that makes the volume there. */
  readonly copyId: string
  readonly makeId: string
}

export type MigrateCall = StepCall<Conductor, MigrateVolumeParams>
/** `hostId`: the host that has the copy. */
type Packed = VolumeDone & { readonly hostId: HostId }
type Carried =
  | { readonly outcome: 'done'; readonly sizeBytes: number }
  | Exclude<VolumeDone, { readonly outcome: 'done' }>
/** The store that has content of the volume which is to be removed, and the host that removes it; null: any that reaches it. */
export type LeftContent = {
  readonly storeId: string
  readonly storeName: string
  readonly hostId: HostId | null
}

/** As gateways know a volume of which a host copies the content. */
const STATE = 'uploading'

const own = ({ params, sagaId }: MigrateCall): Volume => atWork(params, STATE, sagaId)
const isOwned = async ({ deps, params, sagaId }: MigrateCall) =>
  (await findVolume(deps.db, params.volume.id))?.sagaId === sagaId

/** Throws `no-capacity` when the store has filled up, and `conflict` when the volume has changed or the store has content of it. */
const claim: LocalStep<Conductor, MigrateVolumeParams> = {
  kind: 'local',
  name: 'claim',
  run: async (tx, call) => {
    const { volume, place, limitGb, key } = call.params
    const { id: volumeId, sizeGb } = volume
    if (key !== undefined) queueVolumeKey(tx, key)
    queueStoreClaim(tx, { storeId: place.storeId, sizeGb }, limitGb)
    if (!(await updateSeenVolume(tx, volume, own(call))))
      throw new Failure('conflict', `Volume ${volumeId} has just changed.`)
    queueVolumeCopy(tx, { volumeId, storeId: place.storeId, sizeGb })
    return null
  },
  undo: async (tx, call) => {
    const { volume, place } = call.params
    await stay(tx, call, 'The move ended unexpectedly.')
    await release(tx, volume, place.storeId)
  },
}

const pack: RemoteStep<Conductor, MigrateVolumeParams> = {
  kind: 'remote',
  name: 'pack',
  forwardOnly: true,
  run: async (call, signal): Promise<Packed> => {
    const { deps, params, work } = call
    const { operation, volume, copyId, before, encryption } = params
    const hostId = await hostOfVolume(deps, volume)
    // Encrypted before it leaves its store, so that no other disk has it in the clear.
    const sealed = before === null && encryption !== undefined && { encryption }
    const done = await workOnStore(deps, {
      host: hostId,
      operation: 'volume-pack',
      payload: {
        operation: { id: operation.id, store: volume.storeId, volumeId: volume.id },
        copy: copyId,
        ...sealed,
      },
      ...{ work, signal, isWanted: () => isOwned(call) },
    })
    return { ...done, hostId }
  },
  // The step `clear` drops the copy.
  undo: 'none',
}

const carry: RemoteStep<Conductor, MigrateVolumeParams> = {
  kind: 'remote',
  name: 'carry',
  forwardOnly: true,
  when: (call) => call.output<Packed>('pack')?.outcome === 'done',
  run: (call, signal): Promise<Carried> =>
    carryCopy(call.deps, {
      ...{ copy: call.params.copyId, from: call.output<Packed>('pack')!.hostId },
      ...{ to: call.params.place.hostId, work: call.work, signal, isWanted: () => isOwned(call) },
    }),
  undo: 'none',
}

const make: RemoteStep<Conductor, MigrateVolumeParams> = {
  kind: 'remote',
  name: 'make',
  forwardOnly: true,
  when: (call) => call.output<Carried>('carry')?.outcome === 'done',
  run: (call, signal) => {
    const { deps, params, work } = call
    const { volume, place, encryption, before, copyId: id, makeId } = params
    const carried = call.output<Carried>('carry')!
    if (carried.outcome !== 'done') throw new Error('A move goes on that has failed')
    const copy = { id, sizeBytes: carried.sizeBytes }
    return workOnStore(deps, {
      host: place.hostId,
      operation: 'volume-create',
      payload: {
        operation: { id: makeId, store: place.storeId, volumeId: volume.id },
        bytes: volume.sizeGb * GIB,
        from: before ? { sealedCopy: { ...copy, encryption: before } } : { copy },
        ...(encryption && { encryption }),
      },
      ...{ work, signal, isWanted: () => isOwned(call) },
    })
  },
  undo: 'none',
}

/** The switch: afterwards the volume is in the other store, or stays where it was. */
const settle: LocalStep<Conductor, MigrateVolumeParams> = {
  kind: 'local',
  name: 'settle',
  forwardOnly: true,
  run: async (tx, call): Promise<LeftContent> => {
    const { volume, place } = call.params
    const made = call.output<VolumeDone>('make')
    if (made?.outcome === 'done' && (await goOver(tx, call))) {
      const { storeId, storeName } = volume
      return { storeId, storeName, hostId: null }
    }
    await stay(tx, call, whyNot(call))
    // The host that made it alone knows whether it is still at work.
    return { storeId: place.storeId, storeName: place.storeName, hostId: place.hostId }
  },
  undo: 'none',
}

function whyNot(call: MigrateCall): string {
  const parts = ['make', 'carry', 'pack'].map((step) => call.output<VolumeDone>(step))
  const failed = parts.find((done) => done?.outcome === 'failed')
  return failed?.outcome === 'failed' ? failed.reason : 'The volume was changed meanwhile.'
}

/** False where the volume is not this saga's any more. */
async function goOver(tx: Tx, call: MigrateCall): Promise<boolean> {
  const { deps, params, work } = call
  const { volume, place, before, encryption } = params
  const seen = own(call)
  const version = seen.version + 1
  const free = { state: 'available', fault: null, sagaId: null, version } as const
  const to: Volume = { ...seen, ...place, ...free, updatedAt: deps.clock.now() }
  if (!(await moveSeenVolume(tx, seen, to))) return false
  const { id: volumeId, storeId, sizeGb } = volume
  await removeVolumeCopy(tx, { volumeId, storeId: place.storeId })
  queueVolumeCopy(tx, { volumeId, storeId, sizeGb })
  if (before && encryption === undefined) queueVolumeKeyGone(tx, volumeId)
  queueVolumeChange(tx, deps, to, work)
  return true
}

/** Afterwards the volume is free in its own store, with the reason, unless it is not this saga's any more. */
async function stay(tx: Tx, call: MigrateCall, fault: string): Promise<void> {
  const { deps, work, params } = call
  const seen = own(call)
  const version = seen.version + 1
  const free = { state: 'available', fault, sagaId: null, version } as const
  const to: Volume = { ...seen, ...free, updatedAt: deps.clock.now() }
  if (!(await updateSeenVolume(tx, seen, to))) return
  if (params.key !== undefined) queueVolumeKeyGone(tx, seen.id)
  queueVolumeChange(tx, deps, to, work)
}

/** Afterwards nothing of the volume is in the store that it is not in, and no host has a copy. */
const clear: RemoteStep<Conductor, MigrateVolumeParams> = {
  kind: 'remote',
  name: 'clear',
  forwardOnly: true,
  run: async (call, signal) => {
    const { deps, params, work } = call
    const left = call.output<LeftContent>('settle')!
    const hasGone = left.hostId === null
    if (hasGone || call.output<VolumeDone>('make') !== undefined)
      await removeContent(deps, { volume: params.volume, left, work, signal })
    const packed = call.output<Packed>('pack')!
    const hosts = new Set([packed.hostId, params.place.hostId])
    await dropCopies(deps, { copy: params.copyId, hosts: [...hosts], work })
    return null
  },
  undo: 'none',
}

const finish: LocalStep<Conductor, MigrateVolumeParams> = {
  kind: 'local',
  name: 'finish',
  forwardOnly: true,
  run: async (tx, call) => {
    await release(tx, call.params.volume, call.output<LeftContent>('settle')!.storeId)
    return null
  },
  undo: 'none',
}

/** Afterwards the store does not count content of a volume that it has not any more. */
async function release(tx: Tx, { id: volumeId, sizeGb }: Volume, storeId: string): Promise<void> {
  if (await removeVolumeCopy(tx, { volumeId, storeId })) queueStoreReturn(tx, { storeId, sizeGb })
}

/**
 * Gives a volume that no guest uses to another store of the cell, by way of a copy that hosts make, carry and read. The volume is in
 * its own store until the other has all of it, and changes stores in one commit; then the former content is removed. Both
 * stores count it meanwhile. A delete, or a cancellation, takes the volume from the move at any time.
 */
export const migrateVolumeSaga: Saga<Conductor, MigrateVolumeParams> = {
  name: 'migrate-volume',
  version: 1,
  steps: [claim, pack, carry, make, settle, clear, finish],
}

/**
 * The same for a volume that is encrypted otherwise in the other store. It has the key that it needs there from the first commit on,
 * and where it is not encrypted any more it loses its key in the commit in which it changes stores. Its content leaves its store
 * encrypted, and is in the clear in stores alone.
 */
export const changeEncryptionSaga: Saga<Conductor, MigrateVolumeParams> = {
  ...migrateVolumeSaga,
  // A process of a release that knows no such change must not take it up.
  name: 'change-volume-encryption',
  withoutSecrets: ({ key: _key, ...params }) => params,
}
