import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { type Clock, systemClock } from '../clock.ts'
import { Database, type Executor } from '../db/database.ts'
import { migrateDatabase } from '../db/migrate.ts'
import { acquireLease, HeldLease, releaseLease, renewLease, seizeLease } from './lease.ts'

const TTL_MS = 60_000

let db: Database

beforeAll(async () => {
  const url = await freshDatabase('leases')
  await migrateDatabase(url, 'cells/db/migrations')
  db = new Database({ url, connectionsMax: 2 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** As if the lease had been taken that long before, or the database's clock had been set forward by as much. */
async function age(name: string, ms: number): Promise<void> {
  await db.orm.execute(
    sql`update leases set expires_at = expires_at - interval ${ms} * 1000 microsecond where name = ${name}`,
  )
}

test('a lease is one holder’s until it is over, and each new holder has a higher generation', async () => {
  expect(await acquireLease(db, 'job', 'a', TTL_MS)).toMatchObject({ holder: 'a', generation: 1 })
  expect(await acquireLease(db, 'job', 'b', TTL_MS)).toBeUndefined()
  await age('job', 2 * TTL_MS)
  expect(await acquireLease(db, 'job', 'b', TTL_MS)).toMatchObject({ holder: 'b', generation: 2 })
  expect(await acquireLease(db, 'job', 'a', TTL_MS)).toBeUndefined()
  expect(await acquireLease(db, 'job', 'b', TTL_MS)).toMatchObject({ generation: 2 })
  await releaseLease(db, 'job', 'b')
  expect(await acquireLease(db, 'job', 'a', TTL_MS)).toMatchObject({ holder: 'a', generation: 3 })
})

test('a holder whose lease was over, and that no other process took, keeps its generation', async () => {
  await acquireLease(db, 'late', 'a', TTL_MS)
  await age('late', 2 * TTL_MS)

  expect(await acquireLease(db, 'late', 'a', TTL_MS)).toMatchObject({ generation: 1 })
  expect(await acquireLease(db, 'late', 'b', TTL_MS)).toBeUndefined()
})

test('seizing raises the generation, also for the same holder', async () => {
  const first = await seizeLease(db, 'process', 'a', TTL_MS)
  const second = await seizeLease(db, 'process', 'b', TTL_MS)
  const third = await seizeLease(db, 'process', 'b', TTL_MS)

  expect([first, second, third].map(({ generation }) => generation)).toEqual([1, 2, 3])
  expect(await renewLease(db, first, TTL_MS)).toBe(false)
})

test('a lease written by a clock that was set back since is not waited for', async () => {
  await acquireLease(db, 'ahead', 'a', TTL_MS)
  await age('ahead', -3_600_000)

  expect(await acquireLease(db, 'ahead', 'b', TTL_MS)).toMatchObject({ holder: 'b', generation: 2 })
})

test('a lease that is held is asked for seldom, and lost as soon as it is asked for after another took it', async () => {
  let statements = 0
  const counting: Executor = {
    orm: db.orm,
    run: (...call) => {
      statements += 1
      return db.run(...call)
    },
    rows: (...call) => {
      statements += 1
      return db.rows(...call)
    },
  }
  let now = 0
  const clock: Clock = { ...systemClock, elapsed: () => now }
  const lease = new HeldLease(counting, clock, { name: 'held', holder: 'a', ttlMs: TTL_MS })
  const statementsOf = async (hold: () => Promise<unknown>) => {
    const before = statements
    await hold()
    return statements - before
  }

  expect(await lease.hold()).toMatchObject({ holder: 'a', generation: 1 })
  expect(await statementsOf(() => lease.hold())).toBe(0)
  now += TTL_MS / 2
  expect(await statementsOf(() => lease.hold())).toBe(1)
  await seizeLease(db, 'held', 'b', TTL_MS)
  now += TTL_MS / 2
  expect(await lease.hold()).toBeUndefined()
  await releaseLease(db, 'held', 'b')
  expect(await lease.hold()).toMatchObject({ holder: 'a', generation: 3 })
})
