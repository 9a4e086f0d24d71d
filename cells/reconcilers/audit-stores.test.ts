import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { renewIncarnation } from '../db/feed.ts'
import { volumeSnapshots, volumes } from '../db/schema/volumes.ts'
import { readStores } from '../db/stores.ts'
import { findVolumeSnapshot } from '../db/volume-snapshots.ts'
import { findVolume } from '../db/volumes.ts'
import { GIB } from '../volumes/store.ts'
import { MISSING } from '../volumes/store-findings.ts'
import { auditAllStores } from './audit-stores.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost
let store: string

const db = () => running.cell.conductor.db
const driver = () => host.driver.volumes!
const signal = () => AbortSignal.timeout(10_000)
const audit = () => auditAllStores(running.cell)
const operationOn = (volumeId: VolumeId) => ({ id: newId<string>(), volumeId, attempt: 1 })
const theStore = async () => (await readStores(db())).find(({ id }) => id === store)!
const stored = async () => (await driver().list(store, signal())).map(({ id }) => id)

beforeAll(async () => {
  cell = await testCell('store_audit')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
  store = (await waitFor('a store', async () => (await readStores(db()))[0], 30_000)).id
})
afterAll(() => cell?.[Symbol.asyncDispose]())

async function newVolume(): Promise<VolumeId> {
  const volumeId = newId<VolumeId>()
  const volume = { projectId: 'demo', sizeGb: 1, zone: null, specs: {} }
  const answer = await cell.ask('volume.create', { operation: operationOn(volumeId), volume })
  expect(answer.outcome).toBe('accepted')
  await expect.poll(() => shown(volumeId)).toMatchObject({ state: 'available' })
  return volumeId
}

async function newSnapshot(volumeId: VolumeId): Promise<VolumeSnapshotId> {
  const snapshotId = newId<VolumeSnapshotId>()
  const operation = { id: newId<string>(), snapshotId }
  await cell.ask('volume-snapshot.create', { operation, volume: { volumeId, attempt: 1 } })
  await expect.poll(() => shownSnapshot(snapshotId)).toMatchObject({ state: 'available' })
  return snapshotId
}

const shown = async (id: VolumeId) => (await findVolume(db(), id)) ?? null
const shownSnapshot = async (id: string) => (await findVolumeSnapshot(db(), id)) ?? null

async function deleteBoth(volumeId: VolumeId, snapshotId: VolumeSnapshotId): Promise<void> {
  await cell.ask('volume-snapshot.delete', { operation: { id: newId(), snapshotId } })
  await expect.poll(() => shownSnapshot(snapshotId)).toBeNull()
  await cell.ask('volume.delete', { operation: operationOn(volumeId) })
  await expect.poll(() => shown(volumeId)).toBeNull()
}

/** As if nothing had changed them for an hour. */
async function settle(): Promise<void> {
  const updatedAt = sql`now(3) - interval 1 hour`
  await db().orm.update(volumes).set({ updatedAt }).where(eq(volumes.storeId, store))
  await db()
    .orm.update(volumeSnapshots)
    .set({ updatedAt })
    .where(eq(volumeSnapshots.storeId, store))
}

const remake = (id: VolumeId) => driver().create({ store, id, bytes: GIB }, signal())

test('a volume or snapshot that is not in its store is in error with the reason, until it is there again', async () => {
  const [gone, kept] = [await newVolume(), await newVolume()]
  const snapshotId = await newSnapshot(kept)
  await driver().destroySnapshot({ store, id: kept }, snapshotId, signal())
  await driver().destroy({ store, id: gone }, signal())

  expect(await audit()).toMatchObject({ missing: 0 })
  await settle()
  expect(await audit()).toMatchObject({ missing: 2, unknown: 0 })
  expect(await audit()).toMatchObject({ missing: 0, returned: 0 })
  const missing = { state: 'error', fault: MISSING }
  expect([await shown(gone), await shownSnapshot(snapshotId)]).toMatchObject([missing, missing])
  expect(await shown(kept)).toMatchObject({ state: 'available' })
  await cell.waitForFeed('volume', ({ view: v }) => v.volumeId === gone && v.fault === MISSING)

  await remake(gone)
  await driver().snapshot({ store, id: kept }, snapshotId, signal())
  expect(await audit()).toMatchObject({ returned: 2 })
  const whole = { state: 'available', fault: null }
  expect([await shown(gone), await shownSnapshot(snapshotId)]).toMatchObject([whole, whole])
})

test('what was deleted and is there again goes, snapshots before their volume, and the store owes nothing', async () => {
  const volumeId = await newVolume()
  const snapshotId = await newSnapshot(volumeId)
  await deleteBoth(volumeId, snapshotId)
  const { promisedGb } = await theStore()
  // As a host does that was asked before the delete, and was slow.
  await remake(volumeId)
  await driver().snapshot({ store, id: volumeId }, snapshotId, signal())

  expect(await audit()).toMatchObject({ removed: 1, unknown: 1 })
  expect(await audit()).toMatchObject({ removed: 1, unknown: 0 })
  await expect.poll(stored).not.toContain(volumeId)
  await expect.poll(() => shown(volumeId)).toBeNull()
  expect(await theStore()).toMatchObject({ promisedGb, unknownObjects: 0 })
})

test('what the cell does not know is counted and stays, also what it had deleted before it was restored', async () => {
  const stranger = newId<VolumeId>()
  await remake(stranger)
  const before = await newVolume()
  const snapshotId = await newSnapshot(before)
  await deleteBoth(before, snapshotId)
  await renewIncarnation(running.cell.conductor.db as Database)
  await remake(before)
  await driver().snapshot({ store, id: before }, snapshotId, signal())

  for (const _ of [1, 2]) expect(await audit()).toMatchObject({ removed: 0, unknown: 3 })

  expect(await stored()).toEqual(expect.arrayContaining([stranger, before]))
  expect(await theStore()).toMatchObject({ unknownObjects: 3 })
})

test('a store that cannot be read is left as it was', async () => {
  const { unknownObjects } = await theStore()
  await newVolume()
  await settle()
  host.driver.faults.set([{ method: 'listVolumes', effect: { do: 'fail', kind: 'unavailable' } }])

  expect(await audit()).toEqual({ missing: 0, returned: 0, unknown: 0, removed: 0 })
  expect(await theStore()).toMatchObject({ unknownObjects })
  host.driver.faults.set([])
})
