import { eq, sql } from 'drizzle-orm'
import { int, mysqlTable } from 'drizzle-orm/mysql-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { Relay } from '#test/env/relay.ts'
import { token } from './columns.ts'
import { Database } from './database.ts'
import { isDeadlock, isDuplicate } from './failures.ts'

const things = mysqlTable('things', { id: int('id').primaryKey(), name: token('name') })

let relay: Relay
let db: Database

beforeAll(async () => {
  relay = await Relay.open(await freshDatabase('database'))
  db = new Database({ url: relay.url, connectionsMax: 4 })
  await db.orm.execute(sql`create table things (id int primary key, name varchar(64))`)
  await db.orm.insert(things).values([
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ])
})

afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
  await relay?.[Symbol.asyncDispose]()
})

const failureOf = async (promise: PromiseLike<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

test('a taken key is told as such, without the values of the statement', async () => {
  const values = { id: 1, name: 'a secret name' }

  for (const insert of [
    () => db.orm.insert(things).values(values),
    () => db.transaction((tx) => tx.orm.insert(things).values(values)),
  ]) {
    const error = await failureOf(insert())

    expect(isDuplicate(error, 'PRIMARY')).toBe(true)
    expect(String((error as Error).message)).not.toContain('a secret name')
  }
})

test('two transactions that wait for each other both end well: the victim is run again', async () => {
  const bothHaveOne = Promise.withResolvers<void>()
  let holding = 0
  let runs = 0
  const lockBoth = (first: number, second: number) =>
    db.transaction(async (tx) => {
      runs += 1
      await tx.orm.update(things).set({ name: 'x' }).where(eq(things.id, first))
      holding += 1
      if (holding === 2) bothHaveOne.resolve()
      await bothHaveOne.promise
      await tx.orm.update(things).set({ name: 'x' }).where(eq(things.id, second))
    })

  await Promise.all([lockBoth(1, 2), lockBoth(2, 1)])

  expect(runs).toBe(3)
  expect(isDeadlock(Object.assign(new Error('victim'), { code: 'ER_LOCK_DEADLOCK' }))).toBe(true)
})

test('a database that is away is unavailable, whichever way it is asked', async () => {
  relay.set('refuse')

  for (const ask of [
    () => db.orm.select().from(things),
    () => db.orm.select().from(things).prepare().execute(),
    () => db.orm.execute(sql`select 1`),
    () => db.orm.$count(things),
    () => db.transaction((tx) => tx.orm.select().from(things)),
  ])
    expect(await failureOf(ask())).toMatchObject({ name: 'Failure', kind: 'unavailable' })
  relay.set('pass')
  expect(await db.orm.select().from(things).where(eq(things.id, 1))).toHaveLength(1)
})
