import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId, type SagaId } from '#common/ids.ts'
import { hasBegun } from '#common/saga/log.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { VolumeEncryption } from '#openapi/wire/cell-volume.ts'
import type { Cell } from '../cell.ts'
import { queueVolumeChange } from '../conductor/sagas/create-volume.ts'
import { changeEncryptionSaga, migrateVolumeSaga } from '../conductor/sagas/migrate-volume.ts'
import { atWork } from '../conductor/sagas/volume-task.ts'
import { copiesOfVolume } from '../db/volume-copies.ts'
import { findVolumeKeys, queueVolumeKeyGone } from '../db/volume-keys.ts'
import { hasSnapshots } from '../db/volume-snapshots.ts'
import { updateSeenVolume } from '../db/volumes.ts'
import { type CurrentChoice, chooseCurrent } from '../volumes/choose-current.ts'
import type { VolumePlace } from '../volumes/choose-store.ts'
import { hostUpForVolume } from '../volumes/host-of-volume.ts'
import { promiseLimitGb, type Store } from '../volumes/store.ts'
import { type Volume, volumeView } from '../volumes/volume.ts'
import { newVolumeKey } from '../volumes/volume-keys.ts'
import { presentVolume } from './volume.ts'

type Ask = CellAsk<'volume.migrate'> & {
  /** How the volume was encrypted before; null: not at all; absent: as it is to be. */
  readonly before?: VolumeEncryption | null
}
type Answer = CellAnswer<'volume.migrate'>

/** The volume may change between being read and being taken, as often as others act on it meanwhile. */
const TRIES_MAX = 5

/** Afterwards the volume is on its way to another store, or stays where it is if that was cancelled. */
export function volumeMigrate(
  cell: Cell,
  ask: CellAsk<'volume.migrate'>,
  work: WorkContext,
): Promise<Answer> {
  return migrate(cell, ask, work)
}

/** The same of a volume that is encrypted otherwise there. */
export function volumeChangeEncryption(
  cell: Cell,
  { from: before, to, ...ask }: CellAsk<'volume.change-encryption'>,
  work: WorkContext,
): Promise<Answer> {
  return migrate(cell, { ...ask, before, ...(to && { encryption: to }) }, work)
}

async function migrate(cell: Cell, ask: Ask, work: WorkContext): Promise<Answer> {
  const { conductor } = cell
  const { operation, isCancelled = false } = ask
  const id = operation.id as SagaId
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const volume = await presentVolume(cell, operation)
    if (isCancelled) {
      const freed = volume.sagaId === id ? await takeBack(cell, ask, volume, work) : volume
      if (freed === undefined) continue
      return { view: volumeView(freed) }
    }
    // It may be over already when the request is repeated.
    if (await hasBegun(conductor.db, id)) return { view: volumeView(volume) }
    if (volume.state !== 'available')
      throw new Failure('conflict', `Volume ${volume.id} is ${volume.state}.`)
    if (await hasSnapshots(conductor.db, volume.id))
      throw new Failure('conflict', `Volume ${volume.id} has snapshots, which stay in their store.`)
    await refuseOtherwise(cell, ask, volume)
    const begun = await begin(cell, ask, volume, work)
    if (begun !== undefined) return begun
  }
  throw new Failure('unavailable', `Volume ${operation.volumeId} is changing too fast. Try again.`)
}

/** Afterwards the move, which has not left the store, removes what it has made; undefined where it has just gone on. */
async function takeBack(
  { conductor }: Cell,
  ask: Ask,
  volume: Volume,
  work: WorkContext,
): Promise<Volume | undefined> {
  const free = { state: 'available', sagaId: null, version: volume.version + 1 } as const
  const to: Volume = { ...volume, ...free, updatedAt: conductor.clock.now() }
  return conductor.db.transaction(async (tx) => {
    if (!(await updateSeenVolume(tx, volume, to))) return undefined
    if (needsKey(ask)) queueVolumeKeyGone(tx, volume.id)
    queueVolumeChange(tx, conductor, to, work)
    return to
  })
}

/** True of a volume that gets a key on its way. */
function needsKey({ before, encryption }: Ask): boolean {
  return before === null && encryption !== undefined
}

/** Throws `conflict` for a volume that is to be encrypted otherwise, and is not as the request takes it to be. */
async function refuseOtherwise({ conductor }: Cell, { before }: Ask, { id }: Volume) {
  if (before === undefined) return
  const isEncrypted = (await findVolumeKeys(conductor.db, [id], null)).length > 0
  if (isEncrypted === (before !== null)) return
  throw new Failure('conflict', `Volume ${id} is ${isEncrypted ? '' : 'not '}encrypted.`)
}

/** Undefined where the volume has changed since it was read. Throws `no-capacity`, and `conflict` for a store that is still to be emptied. */
async function begin(
  cell: Cell,
  ask: Ask,
  volume: Volume,
  work: WorkContext,
): Promise<Answer | undefined> {
  const { choice, stores, trace: undecided } = await choose(cell, ask, volume, work)
  const lostClaims: string[] = []
  for (const place of choice.places) {
    const params = paramsOf(cell, ask, volume, { place, stores })
    const id = ask.operation.id as SagaId
    try {
      await cell.sagas.start(sagaFor(ask), { id, subject: volume.id, params, work })
      const trace = { ...undecided, lostClaims, chosen: place.storeName }
      return { view: volumeView(atWork(params, 'uploading', id)), trace }
    } catch (error) {
      if (isFailure(error, 'conflict') || isDuplicate(error)) return undefined
      if (!isFailure(error, 'no-capacity')) throw error
      lostClaims.push(place.storeName)
    }
  }
  const filled = lostClaims.map((name) => `${name}: it filled up meanwhile (CapacityFilter)`)
  const why = [...choice.refusals, ...filled].join('; ')
  throw new Failure(
    'no-capacity',
    why === '' ? 'The cell has no other store for it.' : `No other store fits: ${why}.`,
  )
}

/** Stores with leftovers of the volume are no candidates. Of the others those come first that its own host reaches. */
async function choose(
  cell: Cell,
  { specs, zone, encryption, amongStores }: Ask,
  volume: Volume,
  work: WorkContext,
): Promise<CurrentChoice> {
  const { conductor } = cell
  const copies = await copiesOfVolume(conductor.db, volume.id)
  const left = new Set(copies.map(({ storeId }) => storeId))
  const isWanted = ({ id }: Store) =>
    id !== volume.storeId && (amongStores === undefined || amongStores.includes(id))
  const hostId = await hostUpForVolume(conductor, volume)
  const host = hostId === undefined ? undefined : conductor.hosts.get(hostId)?.name
  const { projectId, sizeGb } = volume
  const wanted = {
    ...{ projectId, sizeGb, zone, specs, sourceStoreId: null },
    ...(encryption && { encryption }),
    ...(host !== undefined && { host }),
  }
  const isCandidate = (store: Store) => isWanted(store) && !left.has(store.id)
  const current = await chooseCurrent(cell, wanted, work, isCandidate)
  const emptied = current.stores.filter((store) => isWanted(store) && left.has(store.id))
  const refusals = [
    ...current.choice.refusals,
    ...emptied.map(({ name }) => `${name}: former content of the volume is still being removed`),
  ]
  return { ...current, choice: { ...current.choice, refusals } }
}

function sagaFor({ before }: Ask) {
  return before === undefined ? migrateVolumeSaga : changeEncryptionSaga
}

function paramsOf(
  { conductor }: Cell,
  ask: Ask,
  volume: Volume,
  { place, stores }: { readonly place: VolumePlace; readonly stores: readonly Store[] },
) {
  const { operation, encryption, before } = ask
  const store = stores.find(({ id }) => id === place.storeId)!
  return {
    ...{ operation, volume, place, copyId: newId<string>(), makeId: newId<string>() },
    limitGb: promiseLimitGb(store, conductor.storeRatio),
    ...(encryption && { encryption }),
    ...(before !== undefined && { before }),
    ...(needsKey(ask) && { key: newVolumeKey(conductor.secrets, volume.id) }),
  }
}
