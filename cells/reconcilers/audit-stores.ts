import { workContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type HostId, newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { forEachRow, type Reconciler, type ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { queueVolumeChange } from '../conductor/sagas/create-volume.ts'
import { queueSnapshotChange } from '../conductor/sagas/create-volume-snapshot.ts'
import { deleteVolumeSaga } from '../conductor/sagas/delete-volume.ts'
import { workOnStore } from '../conductor/work-on-store.ts'
import { queueStoreClaim, readStores, recordUnknownObjects } from '../db/stores.ts'
import { copiesInStore } from '../db/volume-copies.ts'
import { isSnapshotEnded, snapshotsInStore, updateSeenSnapshot } from '../db/volume-snapshots.ts'
import { endedVolumeAttempt, queueVolume, updateSeenVolume, volumesInStore } from '../db/volumes.ts'
import { GIB, type Store } from '../volumes/store.ts'
import {
  type ListedVolume,
  MISSING,
  type StoreFindings,
  type StoreRows,
  storeFindings,
} from '../volumes/store-findings.ts'
import type { Volume } from '../volumes/volume.ts'
import type { VolumeSnapshot } from '../volumes/volume-snapshot.ts'

const EVERY_MS = 300_000
const LEASE_NAME = 'store-audit'
const LEASE_TTL_MS = 600_000
const PAGES_MAX = 1_000

/** Compares what is in each store with what the cell knows. */
export function auditStores(cell: Cell, holder: string): Reconciler {
  const { db, clock } = cell.conductor
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'store-audit',
    everyMs: EVERY_MS,
    round: async (signal) => {
      if ((await lease.hold()) === undefined) return {}
      return auditAllStores(cell, signal)
    },
  }
}

/**
 * One look at every store that a host reaches. Afterwards a volume or snapshot that is not there is in `error`, and one
 * that is there again is available; what the cell knows to have deleted is being removed, and everything else that it does
 * not know is counted and left alone, for it may be all there is of somebody's data.
 */
export async function auditAllStores(
  { conductor, sagas }: Cell,
  signal?: AbortSignal,
): Promise<ReconcilerReport> {
  const { db, hosts, log } = conductor
  const found = { missing: 0, returned: 0, unknown: 0, removed: 0 }
  for (const store of await readStores(db)) {
    signal?.throwIfAborted()
    const hostId = store.hostIds.find((id) => {
      const host = hosts.get(id)
      return host !== undefined && hosts.isUp(host)
    })
    const findings = hostId && (await compare(conductor, store, hostId))
    if (hostId === undefined || findings === undefined) continue
    const { missing, returned, missingSnapshots, returnedSnapshots } = findings
    await settle(conductor, findings)
    found.missing += missing.length + missingSnapshots.length
    found.returned += returned.length + returnedSnapshots.length
    const each = { log, ...(signal && { signal }) }
    const place = { store, hostId }
    const left = await removeEnded({ conductor, sagas }, place, findings, each)
    const unknown = findings.unknown.length + findings.unknownSnapshots.length
    found.removed += unknown - left.length
    found.unknown += left.length
    if (left.length !== store.unknownObjects) {
      await recordUnknownObjects(db, store.id, left.length)
      if (left.length > 0)
        log.warn(
          { store: store.name, objects: left },
          'a store has objects that the cell does not know',
        )
    }
  }
  return found
}

/** Undefined while the store cannot be read. */
async function compare(
  conductor: Conductor,
  store: Store,
  hostId: HostId,
): Promise<StoreFindings | undefined> {
  const { clock, log } = conductor
  try {
    const before = await rowsOf(conductor, store)
    const listed = await listAll(conductor, store, hostId)
    const after = await rowsOf(conductor, store)
    return storeFindings(listed, before, after, clock.now())
  } catch (error) {
    if (!isFailure(error, 'unavailable', 'not-found', 'unsupported')) throw error
    log.info({ store: store.name, error: error.message }, 'a store was not compared')
    return undefined
  }
}

async function rowsOf({ db }: Conductor, { id }: Store): Promise<StoreRows> {
  const [volumes, snapshots, copies] = await Promise.all([
    volumesInStore(db, id),
    snapshotsInStore(db, id),
    copiesInStore(db, id),
  ])
  return { volumes, snapshots, copies: copies.map(({ volumeId }) => volumeId) }
}

async function listAll(
  conductor: Conductor,
  { id: store, name }: Store,
  hostId: HostId,
): Promise<readonly ListedVolume[]> {
  const all: ListedVolume[] = []
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const after = all.at(-1)?.id
    const ask = { store, ...(after !== undefined && { after }) }
    const answer = await askHost(conductor, hostId, 'volume-list', ask, workContext({}))
    all.push(...answer.volumes)
    if (answer.hasMore !== true) return all
  }
  throw new Failure('internal', `Store ${name} has an endless list of volumes.`)
}

async function settle(
  conductor: Conductor,
  { missing, returned, missingSnapshots, returnedSnapshots }: StoreFindings,
): Promise<void> {
  const { db, clock, log } = conductor
  const gone = { state: 'error', fault: MISSING } as const
  const whole = { state: 'available', fault: null } as const
  const changed = <R extends Volume | VolumeSnapshot>(
    row: R,
    change: typeof gone | typeof whole,
  ) => {
    return { ...row, ...change, version: row.version + 1, updatedAt: clock.now() }
  }
  const writeVolume = (change: typeof gone | typeof whole) => async (seen: Volume) => {
    const to = changed(seen, change)
    await db.transaction(async (tx) => {
      if (await updateSeenVolume(tx, seen, to)) queueVolumeChange(tx, conductor, to)
    })
    log.warn({ volume_id: seen.id, state: to.state }, 'volume is as it was found in its store')
  }
  const writeSnapshot = (change: typeof gone | typeof whole) => async (seen: VolumeSnapshot) => {
    const to = changed(seen, change)
    await db.transaction(async (tx) => {
      if (await updateSeenSnapshot(tx, seen, to)) queueSnapshotChange(tx, conductor, to)
    })
    log.warn({ snapshot_id: seen.id, state: to.state }, 'snapshot is as it was found in its store')
  }
  await forEachRow(missing, { log }, writeVolume(gone))
  await forEachRow(returned, { log }, writeVolume(whole))
  await forEachRow(missingSnapshots, { log }, writeSnapshot(gone))
  await forEachRow(returnedSnapshots, { log }, writeSnapshot(whole))
}

interface Place {
  readonly store: Store
  readonly hostId: HostId
}

/** Afterwards what the cell knows to have deleted is gone, or being deleted. Returns the ids of the others. */
async function removeEnded(
  cell: Pick<Cell, 'conductor' | 'sagas'>,
  place: Place,
  { unknown, unknownSnapshots }: Pick<StoreFindings, 'unknown' | 'unknownSnapshots'>,
  each: Parameters<typeof forEachRow>[1],
): Promise<readonly string[]> {
  const left: string[] = []
  await forEachRow(unknownSnapshots, each, async ({ volumeId, snapshotId }) => {
    if (!(await removeSnapshot(cell, place, volumeId, snapshotId))) left.push(snapshotId)
  })
  await forEachRow(unknown, each, async (volume) => {
    if (!(await removeVolume(cell, place, volume))) left.push(volume.id)
  })
  return left
}

/** A snapshot is given to a cell once: one that is over is never made again. */
async function removeSnapshot(
  { conductor }: Pick<Cell, 'conductor'>,
  { store, hostId }: Place,
  volumeId: VolumeId,
  snapshotId: string,
): Promise<boolean> {
  if (!(await isSnapshotEnded(conductor.db, snapshotId))) return false
  const operation = { id: newId<string>(), store: store.id, volumeId }
  const done = await workOnStore(conductor, {
    host: hostId,
    operation: 'volume-destroy-snapshot',
    payload: { operation, snapshotId },
    work: workContext({}),
    signal: AbortSignal.timeout(EVERY_MS),
    isWanted: async () => true,
  })
  return done.outcome === 'done'
}

/** The volume gets a row, which keeps a newer attempt from being made meanwhile, and the ordinary delete then removes it. */
async function removeVolume(
  { conductor, sagas }: Pick<Cell, 'conductor' | 'sagas'>,
  { store, hostId }: Place,
  { id, bytes, snapshots }: ListedVolume,
): Promise<boolean> {
  const attempt = await endedVolumeAttempt(conductor.db, id)
  if (attempt === undefined || snapshots.length > 0) return false
  const volume: Volume = {
    ...{ id: id as VolumeId, attempt, version: 1, projectId: '', state: 'error', zone: '' },
    ...{ storeId: store.id, storeName: store.name, hostId, sizeGb: Math.ceil(bytes / GIB) || 1 },
    ...{ fault: null, imageId: null, sagaId: null, updatedAt: conductor.clock.now() },
  }
  const before = async (tx: Tx) => {
    queueStoreClaim(tx, volume, Number.MAX_SAFE_INTEGER)
    queueVolume(tx, volume)
  }
  const params = { operation: { id: newId<string>(), volumeId: id, attempt }, volume }
  const start = { id: newId<SagaId>(), subject: id, params, work: workContext({}), before }
  await sagas.start(deleteVolumeSaga, start)
  return true
}
