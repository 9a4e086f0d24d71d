import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database, Tx } from '#common/db/database.ts'
import { type CellId, newId, type SagaId, type VolumeId } from '#common/ids.ts'
import type { VolumeView } from '#openapi/wire/cell-volume.ts'
import {
  addSnapshot,
  addVolume,
  copiedCell,
  snapshotView,
  volumeView,
} from '#test/env/fed-volumes.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { actUntilWaiting } from '#test/env/lock-waits.ts'
import { volumes } from '../../db/schema/volumes.ts'
import { beginVolumeMove } from '../../db/volume-moves.ts'
import {
  findSnapshot,
  lockSnapshot,
  removeSnapshot,
  writeLockedSnapshot,
} from '../../db/volume-snapshots.ts'
import {
  findVolume,
  lockVolume,
  removeVolume,
  type VolumeChange,
  writeLockedVolume,
} from '../../db/volumes.ts'
import { resyncVolumeSnapshots } from './resync-volume-snapshots.ts'
import { resyncVolumes } from './resync-volumes.ts'

// Goal: a copy ends only what is certainly not needed, and what changes while it is compared stays as it has become.

let db: Database
let cellId: CellId
let elsewhere: CellId
let projectId: string

beforeAll(async () => {
  db = await globalDatabase('resync_volumes')
})
beforeEach(async () => {
  cellId = await addCell(db, newId())
  elsewhere = await addCell(db, newId())
  projectId = newId()
})
afterAll(() => db?.[Symbol.asyncDispose]())

const cellOf = (id: CellId) => ({ id, name: 'north' })

async function change(id: VolumeId, to: VolumeChange): Promise<void> {
  await db.transaction(async (tx) => {
    await lockVolume(tx, id)
    await writeLockedVolume(tx, id, to, { isIntent: false })
  })
}

/** A volume that its cell has shown. */
async function known(to: VolumeChange = {}): Promise<VolumeId> {
  const id = await addVolume(db, { cellId, projectId })
  await change(id, { cellVersion: 2, status: 'available', ...to })
  return id
}

/** Compares with a cell that has these; returns what it was told to delete, and the warnings. */
async function copy(volumes: readonly VolumeView[], of = cellId) {
  const { deps, copy: copied, deleted, warned } = copiedCell(db, { volumes })
  await resyncVolumes(deps, cellOf(of), copied)
  return { deleted, warned }
}

test.each([
  ['of a former attempt is ended', { attempt: 2, lastAttempt: 2 }, 1, true],
  ['is spared while work may give it to the cell again', { attempt: 2, sagaId: 's' }, 1, false],
  [
    'of an attempt that has failed is ended, whatever works',
    { lastAttempt: 2, sagaId: 's' },
    2,
    true,
  ],
  ['of an attempt that is not known is kept', {}, 2, false],
  ['of a deleted volume is ended, also of an unknown attempt', { isDeleting: true }, 2, true],
] as const)('content %s', async (_what, { ...to }, attempt, isEnded) => {
  const sagaId = 'sagaId' in to ? newId<SagaId>() : null
  const id = await known({ ...to, sagaId })

  const { deleted, warned } = await copy([volumeView(id, { attempt })])

  expect(deleted).toEqual(isEnded ? [id] : [])
  if (isEnded) expect(warned[0]).toEqual({ cell: 'north', volume_id: id, attempt })
})

test('content in a cell that never had the volume is ended, whatever works on it', async () => {
  const id = await known({ attempt: 2, lastAttempt: 2, sagaId: newId<SagaId>() })

  expect(await copy([volumeView(id)], elsewhere)).toMatchObject({ deleted: [id] })
  expect(await copy([volumeView(id, { attempt: 2 })], elsewhere)).toMatchObject({ deleted: [id] })
})

test('content of an attempt in which no cell was asked is ended, unless the volume is nowhere', async () => {
  const there = await known({ attempt: 2 })
  const [lost, older] = [
    await known({ cellId: null, attempt: 2 }),
    await known({ cellId: null, attempt: 3 }),
  ]

  const views = [there, lost, older].map((id) => volumeView(id, { attempt: 2 }))

  const changedAt = new Date(1_000)
  await db.orm.update(volumes).set({ changedAt }).where(eq(volumes.id, lost))

  expect(await copy(views, elsewhere)).toMatchObject({ deleted: [there, older] })
  expect(await findVolume(db, lost)).toMatchObject({ cellId: elsewhere, cellVersion: 2 })
  // No user asked for a change: reconcilers wait no longer than before.
  const [row] = await db.orm.select().from(volumes).where(eq(volumes.id, lost))
  expect(row?.changedAt).toEqual(changedAt)
})

test('while a volume moves, only what the move makes is spared, where it leads', async () => {
  const id = await known({ lastAttempt: 2 })
  const move = { subjectId: id, subject: 'moving', cellId, toCellId: elsewhere, attempt: 2 }
  const by = { reason: null, userId: 'user', requestId: 'req-1' }
  await db.transaction((tx) => beginVolumeMove(tx, { ...move, ...by }))
  const third = await addCell(db, newId())

  expect(await copy([volumeView(id, { attempt: 2 })], elsewhere)).toMatchObject({ deleted: [] })
  expect(await copy([volumeView(id)], elsewhere)).toMatchObject({ deleted: [id] })
  expect(await copy([volumeView(id, { attempt: 2 })], third)).toMatchObject({ deleted: [id] })
})

test('an operator reads which volumes are missing, and which content of unknown attempts is kept', async () => {
  const [gone, kept] = [await known(), await known()]

  const { warned } = await copy([volumeView(kept, { attempt: 7 })])

  expect(warned).toEqual([
    { cell: 'north', volume_id: kept, attempt: 7 },
    { cell: 'north', volume_id: gone },
  ])
})

/** `act` finds the rows as they were before `write`, and can lock them only afterwards. */
async function writeMeanwhile(write: (tx: Tx) => Promise<unknown>, act: () => Promise<unknown>) {
  const { acted } = await db.transaction(async (tx) => {
    await write(tx)
    await tx.flush()
    return actUntilWaiting(db, act)
  })
  await acted
}

test.each([
  ['has', { version: 3 }, {}],
  ['has in an unknown attempt', { attempt: 2 }, { cellId: null, attempt: 2 }],
  ['lacks', undefined, {}],
] as const)('a volume that the cell %s may end while it is compared', async (_what, has, to) => {
  const id = await known(to)
  const remove = async (tx: Tx) => {
    await lockVolume(tx, id)
    await removeVolume(tx, id)
  }

  await writeMeanwhile(remove, () => copy(has === undefined ? [] : [volumeView(id, has)]))

  expect(await findVolume(db, id)).toBeUndefined()
})

test('a volume in no cell that is deleted meanwhile does not become that of a cell', async () => {
  const id = await known({ cellId: null, attempt: 2 })
  const mark = async (tx: Tx) => {
    await lockVolume(tx, id)
    const deleting = { isDeleting: true, status: 'deleting' } as const
    await writeLockedVolume(tx, id, deleting, { isIntent: true })
  }

  await writeMeanwhile(mark, () => copy([volumeView(id, { attempt: 2 })]))

  expect(await findVolume(db, id)).toMatchObject({ cellId: null, status: 'deleting' })
})

test.each([true, false])(
  'a snapshot may end while it is compared, the cell has it: %s',
  async (isThere) => {
    const id = await addSnapshot(db, { cellId, projectId })
    await db.transaction(async (tx) => {
      await lockSnapshot(tx, id)
      await writeLockedSnapshot(tx, id, { cellVersion: 1 }, { isIntent: false })
    })
    const remove = async (tx: Tx) => {
      await lockSnapshot(tx, id)
      await removeSnapshot(tx, id)
    }
    const { deps, copy: copied } = copiedCell(db, { snapshots: isThere ? [snapshotView(id)] : [] })

    await writeMeanwhile(remove, () => resyncVolumeSnapshots(deps, cellOf(cellId), copied))

    expect(await findSnapshot(db, id)).toBeUndefined()
  },
)

test('an operator reads which snapshots are missing, and which were ended', async () => {
  const id = await addSnapshot(db, { cellId, projectId })
  const cell = cellOf(cellId)
  const before = copiedCell(db, { snapshots: [snapshotView(id)] })
  await resyncVolumeSnapshots(before.deps, cell, before.copy)
  expect(before.warned).toEqual([])
  const stranger = newId<string>()

  const { deps, copy: copied, warned } = copiedCell(db, { snapshots: [snapshotView(stranger)] })
  await resyncVolumeSnapshots(deps, cell, copied)

  expect(warned).toEqual([
    { cell: 'north', snapshot_id: stranger },
    { cell: 'north', snapshot_id: id },
  ])
})
