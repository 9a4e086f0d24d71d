import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import { listResourceRuns, purgeResourceRuns, recordResourceRuns } from './resource-runs.ts'
import { images } from './schema/image.ts'
import { resourceRuns } from './schema/usage.ts'
import { volumes } from './schema/volumes.ts'

const CREATED = new Date('2026-10-10T00:00:00Z')
const ALL = { projectId: null, from: new Date(0), to: new Date('2100-01-01'), limit: 100 }
const CELL = newId()

let db: Database

beforeAll(async () => {
  db = await globalDatabase('resource_runs')
})

afterAll(() => db?.[Symbol.asyncDispose]())

beforeEach(async () => {
  for (const table of [volumes, images, resourceRuns]) await db.orm.delete(table)
})

async function addVolume(cellId: string | null): Promise<string> {
  const id = newId<string>()
  await db.orm.insert(volumes).values({
    ...{ id, projectId: 'blue', userId: 'u', metadata: {}, specs: {}, sizeGb: 10, chargedGb: 10 },
    ...{ status: 'available', cellId, attempt: 1, triedCells: [] },
    ...{ createdAt: CREATED, changedAt: CREATED },
  })
  return id
}

async function addImage(status: string, sizeBytes: number | null): Promise<string> {
  const id = newId<string>()
  await db.orm.insert(images).values({
    ...{ id, status, visibility: 'private', owner: 'blue', sizeBytes, minDiskGb: 0, minRamMb: 0 },
    ...{ isProtected: false, isHidden: false, properties: {}, revision: 0 },
    ...{ createdAt: CREATED, updatedAt: CREATED },
  })
  return id
}

async function runs() {
  await recordResourceRuns(db)
  return listResourceRuns(db, { ...ALL, after: 0 })
}

test('a volume counts from its creation, once a cell has it', async () => {
  await addVolume(null)
  await addVolume(CELL)

  expect(await runs()).toEqual([
    {
      id: expect.any(Number),
      ...{ kind: 'volume', projectId: 'blue', cellId: CELL, amount: 10 },
      ...{ startedAt: CREATED, endedAt: null },
    },
  ])
})

test('a change ends a run, and the next begins where it ended', async () => {
  const id = await addVolume(CELL)
  await runs()
  await db.orm.update(volumes).set({ sizeGb: 20 }).where(eq(volumes.id, id))
  await runs()
  await db.orm.update(volumes).set({ projectId: 'red' }).where(eq(volumes.id, id))
  const [first, second, third] = await runs()

  expect([first, second, third]).toMatchObject([
    { projectId: 'blue', amount: 10 },
    { projectId: 'blue', amount: 20, startedAt: first!.endedAt },
    { projectId: 'red', amount: 20, startedAt: second!.endedAt, endedAt: null },
  ])
})

test('what is gone has ended, and is forgotten in time', async () => {
  const id = await addVolume(CELL)
  await runs()
  await db.orm.delete(volumes).where(eq(volumes.id, id))
  const [run] = await runs()

  expect(run!.endedAt).not.toBeNull()
  expect(await purgeResourceRuns(db, CREATED, 10)).toBe(0)
  expect(await purgeResourceRuns(db, new Date('2100-01-01'), 10)).toBe(1)
})

test('an image counts by its size once it has its content', async () => {
  await addImage('saving', null)
  await addImage('active', 2 ** 29)

  expect(await runs()).toMatchObject([{ kind: 'image', cellId: null, amount: 0.5 }])
})

test('several that record at once begin one run of each', async () => {
  for (let nth = 0; nth < 5; nth += 1) await addVolume(CELL)
  await Promise.all([1, 2, 3, 4].map(() => recordResourceRuns(db)))

  expect(await runs()).toHaveLength(5)
})

test('nothing that was over before the window, or began after it, is listed', async () => {
  await addVolume(CELL)
  await runs()
  const later = { from: new Date('2026-11-01'), to: new Date('2026-12-01') }
  const before = { from: new Date('2026-01-01'), to: CREATED }

  expect(await listResourceRuns(db, { ...ALL, ...later, after: 0 })).toHaveLength(1)
  expect(await listResourceRuns(db, { ...ALL, ...before, after: 0 })).toHaveLength(0)
  expect(await listResourceRuns(db, { ...ALL, projectId: 'red', after: 0 })).toHaveLength(0)
})
