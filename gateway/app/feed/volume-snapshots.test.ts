import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, newId, type SagaId, type VolumeSnapshotId } from '#common/ids.ts'
import type { VolumeSnapshotView } from '#openapi/wire/cell-volume-snapshot.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import {
  copiedCell,
  failuresOf,
  addSnapshot as fedSnapshot,
  snapshotView as view,
} from '#test/env/fed-volumes.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { volumeQuotaRows } from '../../db/volume-quotas.ts'
import { findSnapshot, lockSnapshot, writeLockedSnapshot } from '../../db/volume-snapshots.ts'
import type { ComputeDeps } from '../compute.ts'
import { takeSnapshotFromLostCell } from '../volume-snapshots/take-from-lost-cell.ts'
import { applyVolumeSnapshots } from './apply-volume-snapshots.ts'
import { resyncVolumeSnapshots } from './resync-volume-snapshots.ts'

// Goal: snapshots are shown as their cell has them, whatever comes late, twice, out of order or from another cell.

let db: Database
let cellId: CellId
let projectId: string

beforeAll(async () => {
  db = await globalDatabase('feed_volume_snapshots')
})
beforeEach(async () => {
  cellId = await addCell(db, newId())
  projectId = newId()
})
afterAll(() => db?.[Symbol.asyncDispose]())

const addSnapshot = (sagaId?: SagaId) => fedSnapshot(db, { cellId, projectId, sagaId })

async function apply(bodies: readonly FeedBody[], from = cellId): Promise<void> {
  const rows = bodies.map((body, index) => ({ n: index + 1, body }))
  await db.transaction((tx) => applyVolumeSnapshots(tx, from, rows))
}

const shown = (of: VolumeSnapshotView): FeedBody => ({ kind: 'volume-snapshot', view: of })
const gone = (snapshotId: string): FeedBody => {
  return { kind: 'volume-snapshot-deleted', snapshotId, at: 1 }
}

async function used(): Promise<Readonly<Record<string, number>>> {
  const rows = await volumeQuotaRows(db, projectId)
  return Object.fromEntries(rows.map((row) => [row.resource, row.used]))
}

async function markDeleting(...ids: readonly VolumeSnapshotId[]): Promise<void> {
  for (const id of ids)
    await db.transaction(async (tx) => {
      await lockSnapshot(tx, id)
      const change = { status: 'deleting', isDeleting: true } as const
      await writeLockedSnapshot(tx, id, change, { isIntent: true })
    })
}

test('the newest view of its cell counts, and no other', async () => {
  const id = await addSnapshot()

  await apply([shown(view(id, { version: 3 })), shown(view(id, { version: 2, state: 'creating' }))])
  await apply([shown(view(id, { version: 9, state: 'error' }))], newId<CellId>())

  expect(await findSnapshot(db, id)).toMatchObject({ status: 'available', cellVersion: 3 })
})

test('rows about a snapshot that is not known change nothing, and the rows after them count', async () => {
  const [id, unknown] = [await addSnapshot(), newId<string>()]

  await apply([shown(view(unknown)), gone(unknown), shown(view(id))])

  expect(await findSnapshot(db, unknown)).toBeUndefined()
  expect(await findSnapshot(db, id)).toMatchObject({ status: 'available' })
})

/** What the cell says at the end of a request. */
const ended = (snapshotId: string, change: Partial<VolumeSnapshotView> = {}): FeedBody => {
  return { kind: 'volume-snapshot', view: view(snapshotId, change), requestId: 'req-1' }
}
const BROKEN = { state: 'error', fault: 'The store is full.' } as const

test('a project is told once which request for a snapshot has failed', async () => {
  const id = await addSnapshot()

  await apply([ended(id, BROKEN)], newId<CellId>())
  expect(await failuresOf(db, id)).toEqual([])
  for (let time = 0; time < 2; time += 1) await apply([ended(id, BROKEN), ended(id, BROKEN)])

  expect(await failuresOf(db, id)).toEqual(['VOLUME_VOLUME_SNAPSHOT_009_001 req-1'])
})

test('a project is not told of a snapshot that is made, breaks later, is deleted, or was in no request', async () => {
  const [made, deleted, unasked] = [await addSnapshot(), await addSnapshot(), await addSnapshot()]
  await markDeleting(deleted)

  await apply([ended(made), ended(deleted, BROKEN), shown(view(unasked, BROKEN))])
  await apply([ended(made, { ...BROKEN, version: 3 })])

  expect(await findSnapshot(db, made)).toMatchObject({ status: 'error' })
  expect(await findSnapshot(db, unasked)).toMatchObject({ status: 'error' })
  for (const id of [made, deleted, unasked]) expect(await failuresOf(db, id)).toEqual([])
})

test('a snapshot that is deleted stays so until it is gone, once, or its cell says that it could not', async () => {
  const [id, kept] = [await addSnapshot(), await addSnapshot()]
  await markDeleting(id, kept)

  await apply([shown(view(id)), shown(view(kept, { state: 'error-deleting', version: 3 }))])
  expect(await findSnapshot(db, id)).toMatchObject({ status: 'deleting' })
  expect(await findSnapshot(db, kept)).toMatchObject({
    status: 'error_deleting',
    isDeleting: false,
  })
  await apply([gone(id)], newId<CellId>())
  expect(await findSnapshot(db, id)).toBeDefined()
  await apply([gone(id), gone(id)])

  expect(await findSnapshot(db, id)).toBeUndefined()
  expect(await used()).toEqual({ snapshots: 1, gigabytes: 3 })
})

/** Compares with a cell that has these; returns what it was told to delete. */
async function resync(snapshots: readonly VolumeSnapshotView[], isReplaced = false) {
  const { deps, copy, deleted } = copiedCell(db, { snapshots }, isReplaced)
  await resyncVolumeSnapshots(deps, { id: cellId, name: 'north' }, copy)
  return deleted
}

test('a full copy shows what was missed, ends what is nowhere, and deletes what should not be there', async () => {
  const [missed, ended, lost] = [await addSnapshot(), await addSnapshot(), await addSnapshot()]
  const beginning = await addSnapshot(newId<SagaId>())
  await apply([shown(view(ended)), shown(view(lost))])
  await markDeleting(ended)
  const stranger = newId<string>()

  const deleted = await resync([view(missed), view(stranger)])

  expect(deleted).toEqual([stranger])
  expect(await findSnapshot(db, missed)).toMatchObject({ status: 'available' })
  expect(await findSnapshot(db, ended)).toBeUndefined()
  expect(await findSnapshot(db, lost)).toMatchObject({ status: 'error', cellId: null })
  expect(await findSnapshot(db, beginning)).toMatchObject({ status: 'creating', cellId })
})

test('a copy of a database that replaced the cell’s counts, though its versions are lower', async () => {
  const id = await addSnapshot()
  await apply([shown(view(id, { version: 9, state: 'error' }))])

  await resync([view(id, { version: 4 })])
  expect(await findSnapshot(db, id)).toMatchObject({ status: 'error' })
  await resync([view(id, { version: 4 })], true)

  expect(await findSnapshot(db, id)).toMatchObject({ status: 'available', cellVersion: 4 })
})

test('a cell of a release without snapshots is left alone', async () => {
  const id = await addSnapshot()
  const askCell = () => Promise.reject(new Failure('unsupported', 'An old release.'))
  const deps = { db, askCell, log: { warn: () => {} } } as unknown as ComputeDeps
  const copy = { incarnation: newId<string>(), isReplaced: false }

  await resyncVolumeSnapshots(deps, { id: cellId, name: 'old' }, copy)

  expect(await findSnapshot(db, id)).toMatchObject({ status: 'creating' })
})

test('the snapshots in a lost cell are in error, and come back with it', async () => {
  const [id, doomed] = [await addSnapshot(), await addSnapshot()]
  await apply([shown(view(id)), shown(view(doomed))])
  await markDeleting(doomed)
  const cell = { id: cellId, name: 'north' } as Parameters<typeof takeSnapshotFromLostCell>[1]

  for (const each of [id, doomed]) await takeSnapshotFromLostCell(db, cell, each)
  expect(await findSnapshot(db, id)).toMatchObject({ status: 'error', cellId })
  expect(await findSnapshot(db, doomed)).toBeUndefined()

  expect(await resync([view(id), view(doomed)])).toEqual([doomed])
  expect(await findSnapshot(db, id)).toMatchObject({ status: 'available' })
})
