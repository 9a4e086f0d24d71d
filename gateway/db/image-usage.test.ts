import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database, type Executor } from '#common/db/database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { ormThrough } from '#test/env/orm-through.ts'
import { imageUsage } from './image-usage.ts'
import { images } from './schema/image.ts'

// Goal: counting what a project has reads none of its images, of which it may have thousands: each request for one more counts.

const PROJECT = 'p'.repeat(32)
let db: Database

beforeAll(async () => {
  db = new Database({ url: await migratedDatabase('image_usage', 'gateway'), connectionsMax: 1 })
  const at = new Date()
  const image = (owner: string, change: Partial<typeof images.$inferInsert>) => ({
    ...{ id: randomUUID(), owner, status: 'active', visibility: 'private', sizeBytes: 8 },
    ...{ minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false, properties: {} },
    ...{ createdAt: at, updatedAt: at, revision: 1, ...change },
  })
  const of = (owner: string) => [
    ...Array.from({ length: 300 }, () => image(owner, {})),
    image(owner, { status: 'saving', sizeBytes: null }),
    image(owner, { status: 'uploading', sizeBytes: 5 }),
    image(owner, { changesOf: randomUUID() }),
    image(owner, { snapshotFor: 'move-copy' }),
    image(owner, { snapshotFor: 'shelve' }),
  ]
  await db.orm.insert(images).values([...of(PROJECT), ...of('q'.repeat(32))])
})
afterAll(() => db?.[Symbol.asyncDispose]())

test('the usage of a project is counted from an index alone', async () => {
  const asked: string[] = []
  const orm = ormThrough(db.orm, (text, work) => {
    asked.push(text)
    return work()
  })
  const seen: Pick<Executor, 'orm' | 'run' | 'rows'> = {
    orm,
    run: (...args) => db.run(...args),
    rows: (...args) => db.rows(...args),
  }

  expect(await imageUsage(seen, PROJECT)).toEqual({
    ...{ images: 303, bytes: 300 * 8 + 8, stagedBytes: 5, uploading: 2 },
  })

  const text = asked[0]!.replace('?', `'${PROJECT}'`)
  const [plan] = await db.orm.execute(sql.raw(`explain ${text}`))
  expect(plan).toMatchObject([
    { key: 'images_usage', Extra: expect.stringContaining('Using index') },
  ])
})
