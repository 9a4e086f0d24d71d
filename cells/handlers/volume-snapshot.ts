import { withinBytes } from '#common/bus/within-bytes.ts'
import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Failure, isFailure } from '#common/errors.ts'
import {
  type HostId,
  newId,
  type SagaId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type {
  VolumeSnapshotCreateAnswer,
  VolumeSnapshotDeleteAnswer,
} from '#openapi/wire/cell-volume-snapshot.ts'
import type { Cell } from '../cell.ts'
import {
  type CreateVolumeSnapshotParams,
  createVolumeSnapshotSaga,
  creatingSnapshot,
} from '../conductor/sagas/create-volume-snapshot.ts'
import {
  deleteVolumeSnapshotSaga,
  deletingSnapshot,
} from '../conductor/sagas/delete-volume-snapshot.ts'
import { readFeedState } from '../db/feed.ts'
import { readStores } from '../db/stores.ts'
import {
  findSnapshotAnswer,
  findVolumeSnapshot,
  queueSnapshotAnswer,
  volumeSnapshotPage,
} from '../db/volume-snapshots.ts'
import { findVolume } from '../db/volumes.ts'
import { hostOfServer, hostUpForVolume } from '../volumes/host-of-volume.ts'
import { promiseLimitGb } from '../volumes/store.ts'
import type { Volume } from '../volumes/volume.ts'
import { volumeSnapshotView } from '../volumes/volume-snapshot.ts'
import { hasStarted } from './has-started.ts'

/** The snapshot may change between being read and being taken, as often as others act on it meanwhile. */
const TRIES_MAX = 5
const PAGE_ROWS = 500

type CreateAsk = CellAsk<'volume-snapshot.create'>

/** Accepts the snapshot, claimed in its volume's store and in the hands of a saga, or refuses it: once, committed. */
export async function volumeSnapshotCreate(
  cell: Cell,
  ask: CreateAsk,
  work: WorkContext,
): Promise<VolumeSnapshotCreateAnswer> {
  try {
    return (await answerAgain(cell, ask)) ?? (await acceptOrRefuse(cell, ask, work))
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const answer = await answerAgain(cell, ask)
    if (answer !== undefined) return answer
    throw error
  }
}

/** The earlier answer to this request, with the present state; undefined: there is none. */
async function answerAgain(
  { conductor: { db } }: Cell,
  { operation: { snapshotId } }: CreateAsk,
): Promise<VolumeSnapshotCreateAnswer | undefined> {
  const record = await findSnapshotAnswer(db, snapshotId)
  if (record === undefined) return undefined
  if (record.outcome === 'refused') return { outcome: 'refused', reason: record.reason ?? '' }
  const snapshot = await findVolumeSnapshot(db, snapshotId)
  if (record.outcome === 'deleted' || snapshot === undefined) return { outcome: 'deleted' }
  return { outcome: 'accepted', view: volumeSnapshotView(snapshot) }
}

async function acceptOrRefuse(
  cell: Cell,
  ask: CreateAsk,
  work: WorkContext,
): Promise<VolumeSnapshotCreateAnswer> {
  const { volumeId, attempt } = ask.volume
  const volume = await findVolume(cell.conductor.db, volumeId as VolumeId)
  if (volume === undefined || volume.attempt !== attempt)
    return refuse(cell, ask, `Volume ${volumeId} is not in this cell.`)
  if (volume.state !== 'available')
    return refuse(cell, ask, `Volume ${volumeId} is ${volume.state}.`)
  const hostId = await hostFor(cell, ask, volume)
  // Once a host is back the volume may have other content than its user meant.
  if (hostId === undefined)
    return refuse(cell, ask, `No host that is up reaches the volume in store ${volume.storeName}.`)
  try {
    return await accept(cell, ask, work, { volume, hostId })
  } catch (error) {
    if (!isFailure(error, 'no-capacity')) throw error
    return refuse(cell, ask, error.message)
  }
}

/** Commits the cell to its refusal. */
async function refuse(
  { conductor: { db } }: Cell,
  { operation }: CreateAsk,
  reason: string,
): Promise<VolumeSnapshotCreateAnswer> {
  await db.transaction(async (tx) =>
    queueSnapshotAnswer(tx, operation.snapshotId, { outcome: 'refused', reason }),
  )
  return { outcome: 'refused', reason }
}

async function accept(
  cell: Cell,
  { operation }: CreateAsk,
  work: WorkContext,
  { volume, hostId }: { readonly volume: Volume; readonly hostId: HostId },
): Promise<VolumeSnapshotCreateAnswer> {
  const { conductor, sagas } = cell
  const { id: volumeId, sizeGb, storeId, storeName } = volume
  const store = (await readStores(conductor.db)).find((each) => each.id === storeId)!
  const params: CreateVolumeSnapshotParams = {
    operation,
    snapshot: {
      id: operation.snapshotId as VolumeSnapshotId,
      ...{ volumeId, sizeGb, storeId, storeName, hostId },
      updatedAt: conductor.clock.now(),
    },
    limitGb: promiseLimitGb(store, conductor.storeRatio),
  }
  const id = newId<SagaId>()
  await sagas.start(createVolumeSnapshotSaga, {
    id,
    subject: operation.snapshotId,
    params,
    work,
    before: (tx) =>
      queueSnapshotAnswer(tx, operation.snapshotId, { outcome: 'accepted', reason: null }),
  })
  return { outcome: 'accepted', view: volumeSnapshotView(creatingSnapshot(params, id)) }
}

/** A host that is up, through which the snapshot can be made: that of the guest that uses the volume, if one does. */
async function hostFor(
  { conductor }: Cell,
  { volume: { serverId } }: CreateAsk,
  volume: Volume,
): Promise<HostId | undefined> {
  const hostId = await hostOfServer(conductor.db, serverId)
  if (hostId === undefined) return hostUpForVolume(conductor, volume)
  const host = conductor.hosts.get(hostId)
  return host !== undefined && conductor.hosts.isUp(host) ? host.id : undefined
}

/** Afterwards the snapshot is being deleted, or the cell has nothing of it and will never make it. */
export async function volumeSnapshotDelete(
  cell: Cell,
  { operation }: CellAsk<'volume-snapshot.delete'>,
  work: WorkContext,
): Promise<VolumeSnapshotDeleteAnswer> {
  const { db } = cell.conductor
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const snapshot = await findVolumeSnapshot(db, operation.snapshotId)
    if (snapshot === undefined) {
      if (await refuseCreates(cell, operation.snapshotId)) return { outcome: 'deleted' }
      continue
    }
    if (snapshot.state === 'deleting')
      return { outcome: 'deleting', view: volumeSnapshotView(snapshot) }
    const id = newId<SagaId>()
    const params = { operation, snapshot }
    const start = { id, subject: snapshot.id, params, work }
    if (await hasStarted(cell, deleteVolumeSnapshotSaga, start))
      return { outcome: 'deleting', view: volumeSnapshotView(deletingSnapshot(params, id)) }
  }
  throw new Failure('unavailable', 'The snapshot is changing too fast to be deleted.')
}

/** Afterwards no create of the snapshot is accepted that was not before; false when one was accepted meanwhile. */
async function refuseCreates({ conductor: { db } }: Cell, snapshotId: string): Promise<boolean> {
  try {
    await db.transaction(async (tx) =>
      queueSnapshotAnswer(tx, snapshotId, { outcome: 'deleted', reason: null }),
    )
    return true
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return (await findSnapshotAnswer(db, snapshotId))?.outcome !== 'accepted'
  }
}

/** A page of the cell's snapshots, in order of id. The position is read first, so the page is at least as new. */
export async function listVolumeSnapshots(
  { conductor, incarnation }: Cell,
  { afterSnapshot }: CellAsk<'snapshot.volume-snapshots'>,
): Promise<CellAnswer<'snapshot.volume-snapshots'>> {
  const { last } = await readFeedState(conductor.db)
  const rows = await volumeSnapshotPage(conductor.db, afterSnapshot ?? '', PAGE_ROWS)
  const views = rows.map(volumeSnapshotView)
  const snapshots = withinBytes(views)
  const isLast = rows.length < PAGE_ROWS && snapshots.length === views.length
  return { incarnation, position: last, snapshots: [...snapshots], isLast }
}
