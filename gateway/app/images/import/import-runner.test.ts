import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { IsolatedEnd } from '#common/isolated/isolated-process.ts'
import { createLogger } from '#common/log.ts'
import type { Json } from '#common/saga/saga.ts'
import { configFromEnv } from '#gateway/config.ts'
import { imagesOf } from '#gateway/context.ts'
import { gatewayEnv } from '#test/env/gateway-env.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { findTask, insertTask, takeTask } from '../../../db/image-tasks.ts'
import { imageTasks } from '../../../db/schema/image.ts'
import type { Images } from '../images.ts'
import { ImportRunner } from './import-runner.ts'
import { importIsolated } from './run-import.ts'

// Goal: an import on which a process worked when it ended never runs in a gateway again.

const log = createLogger('test', 'silent')
const LONG_AGO = new Date('2026-01-01')
const NEXT = new Date('2026-01-02')
const owned = new AsyncDisposableStack()
let db: Database
let images: Images

beforeAll(async () => {
  const url = await migratedDatabase('import_runner', 'gateway')
  db = owned.use(new Database({ url, connectionsMax: 2 }))
  images = await imagesOf(owned, configFromEnv(await gatewayEnv(url)), db, () => undefined)
})

afterAll(() => owned.disposeAsync())

/** An import of an image that is gone; `isLeft`: a process had it, and has ended. */
async function importTask(isLeft: boolean): Promise<string> {
  const id = newId<string>()
  const request = { method: { name: 'web-download' as const, uri: 'http://a.example/x' } }
  const task = { id, imageId: newId<string>(), owner: id, userId: null, requestId: 'r', request }
  await db.transaction((tx) => insertTask(tx, task, LONG_AGO))
  if (isLeft) await takeTask(db, { id, tries: 0 }, { now: NEXT, leaseUntil: LONG_AGO, tries: 1 })
  return id
}

/** One round, with an isolated process in which each task ends like that. */
async function round(end: IsolatedEnd, work?: () => Promise<unknown>): Promise<readonly Json[]> {
  const tried: Json[] = []
  const run = async (task: Json) => {
    tried.push(task)
    await work?.()
    return end
  }
  await using runner = new ImportRunner(images, log, { run })
  await runner.reconciler(() => undefined).round(new AbortController().signal)
  return tried
}

test('one that ends its isolated process fails', async () => {
  const id = await importTask(true)

  expect(await round({ kind: 'guilty', why: 'It ended its process with code 3.' })).toEqual([
    { kind: 'import', id },
  ])

  expect(await findTask(db, id)).toMatchObject({
    status: 'failure',
    message: 'The import stopped the program that did it.',
  })
  expect(await round({ kind: 'left' })).toEqual([])
})

test('one of which nothing is known is tried in an isolated process again, and has lost no try', async () => {
  const id = await importTask(true)

  await round({ kind: 'left' })

  expect(await findTask(db, id)).toMatchObject({ status: 'processing', tries: 1 })
  expect(await round({ kind: 'ended', answer: null })).toEqual([{ kind: 'import', id }])
})

test('one that no process had is not tried in an isolated process', async () => {
  const id = await importTask(false)

  expect(await round({ kind: 'guilty', why: 'It must not be asked.' })).toEqual([])

  // Given back where the runner stopped before it had failed here.
  const task = await findTask(db, id)
  expect(['pending', 'failure']).toContain(task?.status)
  expect(task?.message).not.toContain('stopped the program')
})

test('however often others end its process, an import has lost no try', async () => {
  const id = await importTask(true)
  for (let ends = 0; ends < 4; ends += 1) {
    const killed = new ImportRunner(images, log, { run: () => new Promise(() => undefined) })
    await killed.reconciler(() => undefined).round(new AbortController().signal)
    await db.orm.update(imageTasks).set({ leaseUntil: LONG_AGO }).where(eq(imageTasks.id, id))
  }

  const work = () => importIsolated(images, id, new AbortController().signal)
  await round({ kind: 'ended', answer: null }, work)

  // Its image is gone, which it has found out by itself.
  expect(await findTask(db, id)).toMatchObject({ status: 'failure', tries: 1 })
  expect((await findTask(db, id))?.message).toContain('was deleted during the upload')
})

test('one that fails in an isolated process without ending its process counts as a try, and is no longer a suspect', async () => {
  const id = await importTask(true)
  const away = () => Promise.reject(new Failure('unavailable', 'It is away.'))
  const blind = { ...images, db: { orm: db.orm, rows: away, transaction: away } }

  expect(await importIsolated(blind as unknown as Images, id, new AbortController().signal)).toBe(
    'It is away.',
  )

  expect(await findTask(db, id)).toMatchObject({ status: 'pending', tries: 1 })
})
