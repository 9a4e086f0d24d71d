import { withinBytes } from '#common/bus/within-bytes.ts'
import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId, type SagaId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { hasBegun } from '#common/saga/log.ts'
import type { Saga } from '#common/saga/saga.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type {
  VolumeAttemptRef,
  VolumeCreateAnswer,
  VolumeDeleteAnswer,
  VolumeState,
  VolumeView,
} from '#openapi/wire/cell-volume.ts'
import type { Cell } from '../cell.ts'
import type { Conductor } from '../conductor/conductor.ts'
import {
  type CreateVolumeParams,
  createVolumeSaga,
  creating,
} from '../conductor/sagas/create-volume.ts'
import { deleteVolumeSaga, deletingVolume } from '../conductor/sagas/delete-volume.ts'
import { extending, extendVolumeSaga } from '../conductor/sagas/extend-volume.ts'
import { reimageVolumeSaga } from '../conductor/sagas/reimage-volume.ts'
import { revertVolumeSaga } from '../conductor/sagas/revert-volume.ts'
import { sealedTarget, uploadVolumeSaga } from '../conductor/sagas/upload-volume.ts'
import { atWork, type VolumeTaskParams } from '../conductor/sagas/volume-task.ts'
import { readFeedState } from '../db/feed.ts'
import { readStores } from '../db/stores.ts'
import { copiesOfVolume } from '../db/volume-copies.ts'
import { findVolumeKeys, type SealedVolumeKey } from '../db/volume-keys.ts'
import { hasSnapshots } from '../db/volume-snapshots.ts'
import { findVolume, findVolumeAttempt, queueVolumeAttempt, volumePage } from '../db/volumes.ts'
import { chooseCurrent } from '../volumes/choose-current.ts'
import type { StoreChoice, VolumePlace } from '../volumes/choose-store.ts'
import { hostOfServer } from '../volumes/host-of-volume.ts'
import { type Found, findSource, sealedImageOf } from '../volumes/source.ts'
import { promiseLimitGb, type Store } from '../volumes/store.ts'
import { type Volume, volumeView } from '../volumes/volume.ts'
import {
  boxKeyFor,
  newVolumeKey,
  receivedVolumeKey,
  sealedForCell,
} from '../volumes/volume-keys.ts'
import { hasStarted } from './has-started.ts'

/** The volume may change between being read and being taken, as often as others act on it meanwhile. */
const TRIES_MAX = 5
const PAGE_ROWS = 500

/** Accepts the volume, claimed in a store and in the hands of a saga, or refuses it: once for this attempt, committed. */
export async function volumeCreate(
  cell: Cell,
  ask: CellAsk<'volume.create'>,
  work: WorkContext,
): Promise<VolumeCreateAnswer> {
  try {
    return (await answerAgain(cell, ask)) ?? (await acceptOrRefuse(cell, ask, work))
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const answer = await answerAgain(cell, ask)
    if (answer !== undefined) return answer
    throw new Failure('conflict', 'Another attempt of the volume is still in this cell.')
  }
}

async function acceptOrRefuse(
  cell: Cell,
  ask: CellAsk<'volume.create'>,
  work: WorkContext,
): Promise<VolumeCreateAnswer> {
  const { conductor } = cell
  if ((await copiesOfVolume(conductor.db, ask.operation.volumeId)).length > 0)
    throw new Failure('unavailable', 'Former content of the volume is still being removed.')
  const found = await findSource(conductor, ask.volume)
  if (found.outcome === 'refused') return refuse(cell, ask, found.reason)
  const { source, sourceStoreId } = found
  const { choice, stores, trace } = await chooseCurrent(
    cell,
    { ...ask.volume, sourceStoreId },
    work,
  )
  const lostClaims: string[] = []
  for (const chosen of choice.places) {
    const place = { ...chosen, hostId: found.hostId ?? chosen.hostId }
    try {
      const accepted = await accept(cell, ask, work, { place, source }, stores)
      return { ...accepted, trace: { ...trace, lostClaims, chosen: chosen.storeName } }
    } catch (error) {
      if (!isFailure(error, 'no-capacity')) throw error
      lostClaims.push(chosen.storeName)
    }
  }
  const refused = await refuse(cell, ask, whyNone(choice, lostClaims))
  return { ...refused, trace: { ...trace, lostClaims } }
}

function whyNone({ refusals }: StoreChoice, lostClaims: readonly string[]): string {
  const filled = lostClaims.map((name) => `${name}: it filled up meanwhile (CapacityFilter)`)
  const all = [...refusals, ...filled]
  return all.length === 0 ? 'The cell has no store.' : `No store fits: ${all.join('; ')}.`
}

/** Commits the cell to its refusal of this attempt. */
async function refuse(
  { conductor: { db } }: Cell,
  { operation }: CellAsk<'volume.create'>,
  reason: string,
): Promise<Extract<VolumeCreateAnswer, { outcome: 'refused' }>> {
  await db.transaction(async (tx) =>
    queueVolumeAttempt(tx, operation, { outcome: 'refused', reason }),
  )
  return { outcome: 'refused', reason }
}

async function accept(
  { conductor, sagas }: Cell,
  { operation, volume }: CellAsk<'volume.create'>,
  work: WorkContext,
  { place, source }: { readonly place: VolumePlace } & Pick<Found, 'source'>,
  stores: readonly Store[],
): Promise<Extract<VolumeCreateAnswer, { outcome: 'accepted' }>> {
  const store = stores.find(({ id }) => id === place.storeId)!
  const { encryption } = volume
  const params: CreateVolumeParams = {
    operation,
    projectId: volume.projectId,
    sizeGb: volume.sizeGb,
    place,
    ...(source && { source }),
    ...(encryption && { encryption, key: keyFor(conductor, operation, volume) }),
    limitGb: promiseLimitGb(store, conductor.storeRatio),
    startedAt: conductor.clock.now(),
  }
  const id = newId<SagaId>()
  await sagas.start(createVolumeSaga, {
    id,
    subject: operation.volumeId,
    params,
    work,
    before: (tx) => queueVolumeAttempt(tx, operation, { outcome: 'accepted', reason: null }),
  })
  return { outcome: 'accepted', view: volumeView(creating(params, id)) }
}

/** One that moves here brings its key; another volume gets its own. Throws `invalid` for a key that was sealed for another cell. */
function keyFor(
  { secrets }: Pick<Conductor, 'secrets'>,
  operation: VolumeAttemptRef,
  { source }: CellAsk<'volume.create'>['volume'],
): SealedVolumeKey {
  if (source?.kind === 'sealed-image')
    return receivedVolumeKey(secrets, operation, source.sealedKey)
  return newVolumeKey(secrets, operation.volumeId as VolumeId)
}

/** The earlier answer to this attempt, with its present state; undefined: there is none. */
async function answerAgain(
  { conductor }: Cell,
  { operation }: CellAsk<'volume.create'>,
): Promise<VolumeCreateAnswer | undefined> {
  const record = await findVolumeAttempt(conductor.db, operation)
  if (record === undefined) return undefined
  if (record.outcome === 'refused') return { outcome: 'refused', reason: record.reason ?? '' }
  const volume = await findVolume(conductor.db, operation.volumeId as VolumeId)
  if (record.outcome === 'deleted' || volume?.attempt !== operation.attempt)
    return { outcome: 'deleted' }
  return { outcome: 'accepted', view: volumeView(volume) }
}

/**
 * Afterwards the volume is being deleted, or the cell has nothing of it and will accept no create of this attempt.
 * Throws `unavailable` while the cell has snapshots of it.
 */
export async function volumeDelete(
  cell: Cell,
  { operation }: CellAsk<'volume.delete'>,
  work: WorkContext,
): Promise<VolumeDeleteAnswer> {
  const { db } = cell.conductor
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const volume = await findVolume(db, operation.volumeId as VolumeId)
    if (volume === undefined || volume.attempt > operation.attempt) {
      if (await refuseCreates(cell, operation)) return { outcome: 'deleted' }
      continue
    }
    // The deleted volume is of an older attempt; the newer attempt must not be made afterwards either.
    if (volume.attempt < operation.attempt) await refuseCreates(cell, operation)
    if (volume.state === 'deleting') return { outcome: 'deleting', view: volumeView(volume) }
    // Gateways delete the snapshots first, and ask again.
    if (await hasSnapshots(db, volume.id))
      throw new Failure('unavailable', `Volume ${volume.id} has snapshots, which go before it.`)
    const id = newId<SagaId>()
    const params = { operation, volume }
    const start = { id, subject: volume.id, params, work }
    const hasBegun = await hasStarted(cell, deleteVolumeSaga, start)
    if (hasBegun) return { outcome: 'deleting', view: volumeView(deletingVolume(params, id)) }
  }
  throw new Failure('unavailable', 'The volume is changing too fast to be deleted.')
}

/** Afterwards no create of the attempt is accepted that was not before; false when one was accepted meanwhile. */
async function refuseCreates(
  { conductor: { db } }: Cell,
  operation: CellAsk<'volume.delete'>['operation'],
): Promise<boolean> {
  try {
    await db.transaction(async (tx) =>
      queueVolumeAttempt(tx, operation, { outcome: 'deleted', reason: null }),
    )
    return true
  } catch (error) {
    if (isFailure(error, 'conflict')) return true
    if (!isDuplicate(error)) throw error
    const record = await findVolumeAttempt(db, operation)
    return record?.outcome !== 'accepted'
  }
}

/** Afterwards the volume is being extended, or has that size. Throws `conflict` in a state that forbids it. */
export async function volumeExtend(
  cell: Cell,
  { operation, sizeGb, serverId }: CellAsk<'volume.extend'>,
  work: WorkContext,
): Promise<CellAnswer<'volume.extend'>> {
  const { conductor } = cell
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const volume = await presentVolume(cell, operation)
    const id = operation.id as SagaId
    if (volume.sizeGb >= sizeGb || volume.sagaId === id) return { view: volumeView(volume) }
    if (volume.state !== 'available')
      throw new Failure('conflict', `Volume ${volume.id} is ${volume.state}.`)
    const store = (await readStores(conductor.db)).find((each) => each.id === volume.storeId)!
    const limitGb = promiseLimitGb(store, conductor.storeRatio)
    const hostId = await hostOfServer(conductor.db, serverId)
    const params = { operation, volume, sizeGb, limitGb, ...(hostId !== undefined && { hostId }) }
    const start = { id, subject: volume.id, params, work }
    const hasBegun = await hasStarted(cell, extendVolumeSaga, start)
    if (hasBegun) return { view: volumeView(extending(params, id)) }
  }
  throw new Failure('unavailable', 'The volume is changing too fast to be extended.')
}

/**
 * Afterwards the volume's content is on its way into the image; that of an encrypted one only encrypted, and with the key for the
 * cell that is named. Throws `conflict` in a state that forbids it.
 */
export async function volumeUpload(
  cell: Cell,
  { operation, target, diskFormat, serverId, sealFor }: CellAsk<'volume.upload'>,
  work: WorkContext,
): Promise<CellAnswer<'volume.upload'>> {
  const { conductor } = cell
  const hostId = await hostOfServer(conductor.db, serverId)
  const [key] =
    sealFor === undefined ? [] : await findVolumeKeys(conductor.db, [operation.volumeId], null)
  const order = {
    ...{ diskFormat, sealedTarget: sealedTarget(conductor, target) },
    ...(hostId !== undefined && { hostId }),
    ...(key && { isSealed: true as const }),
  }
  const task = { saga: uploadVolumeSaga, state: 'uploading', order, work } as const
  const { view } = await begin(cell, operation, task)
  if (key === undefined || sealFor === undefined) return { view }
  return { view, sealedKey: sealedForCell(conductor.secrets, key, sealFor) }
}

/** The public half of the key by which another cell seals that of a volume which is to come. */
export async function volumeBoxKey(
  { conductor }: Cell,
  { operation }: CellAsk<'volume.box-key'>,
): Promise<CellAnswer<'volume.box-key'>> {
  return { publicKey: boxKeyFor(conductor.secrets, operation) }
}

/** Afterwards the volume is being given the content of its snapshot. Throws `conflict` in a state that forbids it. */
export function volumeRevert(
  cell: Cell,
  { operation, snapshotId }: CellAsk<'volume.revert'>,
  work: WorkContext,
): Promise<CellAnswer<'volume.revert'>> {
  const order = { snapshotId: snapshotId as VolumeSnapshotId }
  return begin(cell, operation, { saga: revertVolumeSaga, state: 'reverting', order, work })
}

/** Afterwards the volume is being given the content of an image. Throws `conflict` in a state that forbids it. */
export function volumeReimage(
  cell: Cell,
  { operation, image }: CellAsk<'volume.reimage'>,
  work: WorkContext,
): Promise<CellAnswer<'volume.reimage'>> {
  const order = { imageId: image.id, sealedImage: sealedImageOf(cell.conductor, image) }
  return begin(cell, operation, { saga: reimageVolumeSaga, state: 'downloading', order, work })
}

/** Afterwards a host is at work on the available volume. Throws `conflict` in another state. */
async function begin<Order extends object>(
  cell: Cell,
  operation: VolumeAttemptRef,
  task: {
    readonly saga: Saga<Conductor, VolumeTaskParams & Order>
    readonly state: VolumeState
    readonly order: Order
    readonly work: WorkContext
  },
): Promise<{ readonly view: VolumeView }> {
  const { saga, state, order, work } = task
  const id = operation.id as SagaId
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const volume = await presentVolume(cell, operation)
    // It may be over already when the request is repeated.
    if (await hasBegun(cell.conductor.db, id)) return { view: volumeView(volume) }
    if (volume.state !== 'available')
      throw new Failure('conflict', `Volume ${volume.id} is ${volume.state}.`)
    const params = { ...order, operation, volume }
    if (await hasStarted(cell, saga, { id, subject: volume.id, params, work }))
      return { view: volumeView(atWork(params, state, id)) }
  }
  throw new Failure('unavailable', 'The volume is changing too fast. Try again.')
}

/** The volume of this attempt. Throws `not-found`. */
export async function presentVolume(
  { conductor: { db } }: Cell,
  { volumeId, attempt }: VolumeAttemptRef,
): Promise<Volume> {
  const volume = await findVolume(db, volumeId as VolumeId)
  if (volume?.attempt === attempt) return volume
  throw new Failure('not-found', `Volume ${volumeId} is not in this cell.`)
}

/** A page of the cell's volumes, in order of id. The position is read first, so the page is at least as new. */
export async function snapshotVolumes(
  { conductor, incarnation }: Cell,
  { afterVolume }: CellAsk<'snapshot.volumes'>,
): Promise<CellAnswer<'snapshot.volumes'>> {
  const { last } = await readFeedState(conductor.db)
  const rows = await volumePage(conductor.db, afterVolume ?? '', PAGE_ROWS)
  const views = rows.map(volumeView)
  const volumes = withinBytes(views)
  const isLast = rows.length < PAGE_ROWS && volumes.length === views.length
  return { incarnation, position: last, volumes: [...volumes], isLast }
}
