import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { type Clock, systemClock } from '../clock.ts'
import { Database, type Executor } from '../db/database.ts'
import {
  acquireLease,
  endAllLeases,
  endLeasesHeldBy,
  endProcessLease,
  HeldLease,
  releaseLease,
  seizeLease,
} from './lease.ts'

const TTL_MS = 60_000

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('leases', 'cells')
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
  expect(await acquireLease(db, 'process', 'a', TTL_MS)).toBeUndefined()
})

test('a process that seizes a name while another does so as well is told', async () => {
  const contested: Executor = {
    orm: db.orm,
    rows: (...call) => db.rows(...call),
    run: async (...call) => {
      const changed = await db.run(...call)
      await seizeLease(db, 'contested', 'b', TTL_MS)
      return changed
    },
  }

  await expect(seizeLease(contested, 'contested', 'a', TTL_MS)).rejects.toThrow(
    "Two processes run under the name 'contested'",
  )
})

test('a lease whose row is gone belongs to no process', async () => {
  const emptied: Executor = { orm: db.orm, rows: async () => [], run: (...call) => db.run(...call) }

  expect(await acquireLease(emptied, 'emptied', 'a', TTL_MS)).toBeUndefined()
  await expect(seizeLease(emptied, 'emptied', 'a', TTL_MS)).rejects.toThrow('Two processes')
})

test('a lease written by a clock that was set back since is not waited for', async () => {
  await acquireLease(db, 'ahead', 'a', TTL_MS)
  await age('ahead', -3_600_000)

  expect(await acquireLease(db, 'ahead', 'b', TTL_MS)).toMatchObject({ holder: 'b', generation: 2 })
})

/** A database of its own as leases see it, the number of statements on it, and a clock to set. */
function counting() {
  const seen = { statements: 0, now: 0 }
  const executor: Executor = {
    orm: db.orm,
    run: (...call) => {
      seen.statements += 1
      return db.run(...call)
    },
    rows: (...call) => {
      seen.statements += 1
      return db.rows(...call)
    },
  }
  const clock: Clock = { ...systemClock, elapsed: () => seen.now }
  const statementsOf = async (work: () => Promise<unknown>) => {
    const before = seen.statements
    await work()
    return seen.statements - before
  }
  const lease = (name: string, ttlMs = TTL_MS) =>
    new HeldLease(executor, clock, { name, holder: 'a', ttlMs })
  return { seen, executor, clock, statementsOf, lease }
}

const isFree = async (name: string) => {
  const taken = await acquireLease(db, name, 'somebody', TTL_MS)
  if (taken !== undefined) await releaseLease(db, name, 'somebody')
  return taken !== undefined
}

test('a held lease is rarely renewed, and is lost at the renewal after another process took it', async () => {
  const { seen, statementsOf, lease } = counting()
  const held = lease('held')

  expect(await held.hold()).toMatchObject({ holder: 'a', generation: 1 })
  expect(await statementsOf(() => held.hold())).toBe(0)
  seen.now += TTL_MS / 2
  expect(await statementsOf(() => held.hold())).toBe(1)
  await seizeLease(db, 'held', 'b', TTL_MS)
  seen.now += TTL_MS / 2
  expect(await held.hold()).toBeUndefined()
  await releaseLease(db, 'held', 'b')
  expect(await held.hold()).toMatchObject({ holder: 'a', generation: 3 })
})

test('leases of one process are renewed with one statement', async () => {
  const { seen, statementsOf, lease } = counting()
  const leases = [lease('one'), lease('two'), lease('three', 2 * TTL_MS)]
  const holdAll = () => Promise.all(leases.map((each) => each.hold()))
  await holdAll()
  await age('one', TTL_MS - 5_000)
  await age('two', TTL_MS - 5_000)
  await age('three', 2 * TTL_MS - 5_000)

  seen.now += TTL_MS / 4
  expect(await statementsOf(holdAll)).toBe(0)
  seen.now += TTL_MS / 4
  expect(await statementsOf(holdAll)).toBe(1)
  expect(await statementsOf(holdAll)).toBe(0)

  // Each for its own time: five seconds were left of all of them.
  await age('one', TTL_MS - 5_000)
  await age('three', TTL_MS - 5_000)
  await age('one', 6_000)
  await age('three', 6_000)
  expect([await isFree('one'), await isFree('three')]).toEqual([true, false])
})

test('where another took one of them, the others are kept', async () => {
  const { seen, lease } = counting()
  const [lost, kept] = [lease('lost'), lease('kept')]
  await Promise.all([lost.hold(), kept.hold()])
  await seizeLease(db, 'lost', 'b', TTL_MS)

  seen.now += TTL_MS / 4
  await Promise.all([kept.hold(), lost.hold()])
  seen.now += TTL_MS / 4
  const holds = await Promise.all([kept.hold(), lost.hold()])

  expect(holds).toEqual([expect.objectContaining({ name: 'kept' }), undefined])
  expect(await kept.hold()).toMatchObject({ generation: 1 })
})

test('a lease that was renewed with one that is lost is kept without being acquired', async () => {
  const { seen, lease } = counting()
  const [lost, kept] = [lease('lost beside'), lease('kept beside')]
  await Promise.all([lost.hold(), kept.hold()])
  await seizeLease(db, 'lost beside', 'b', TTL_MS)

  seen.now += TTL_MS / 4
  await Promise.all([kept.keep(), lost.keep()])
  seen.now += TTL_MS / 4

  expect(await Promise.all([kept.keep(), lost.keep()])).toEqual([true, false])
})

test('work that hangs loses its lease, however often others of its process are renewed', async () => {
  const { seen, lease } = counting()
  const [hanging, working] = [lease('hanging'), lease('working')]
  await Promise.all([hanging.hold(), working.hold()])

  for (let renewals = 0; renewals < 4; renewals += 1) {
    seen.now += TTL_MS / 2
    await age('hanging', TTL_MS / 2)
    await working.hold()
  }

  expect(await isFree('hanging')).toBe(true)
})

test('work that was asked for half a lease ago is not renewed with others', async () => {
  const { seen, lease } = counting()
  const [hanging, working] = [lease('half'), lease('working on')]
  await Promise.all([hanging.hold(), working.hold()])

  seen.now += TTL_MS / 2
  await age('half', TTL_MS - 5_000)
  await working.hold()
  await age('half', 6_000)

  expect(await isFree('half')).toBe(true)
})

test('a lease that was let go is not held, and is not renewed with others either', async () => {
  const { seen, statementsOf, lease } = counting()
  const [gone, working] = [lease('let go'), lease('goes on')]
  await Promise.all([gone.hold(), working.hold()])

  seen.now += TTL_MS / 4
  await gone.hold()
  await gone.letGo()
  expect(await gone.keep()).toBe(false)
  seen.now += TTL_MS / 4
  expect(await statementsOf(() => working.hold())).toBe(1)

  expect(await working.keep()).toBe(true)
  expect(await isFree('let go')).toBe(true)
})

test('a lease that was never had is not let go of', async () => {
  const { statementsOf, lease } = counting()
  const never = lease('never had')
  await acquireLease(db, 'never had', 'a', TTL_MS)

  expect(await statementsOf(() => never.letGo())).toBe(0)
  expect(await isFree('never had')).toBe(false)
})

test('a lease that is let go while it is renewed is not kept', async () => {
  const { seen, lease } = counting()
  const held = lease('let go meanwhile')
  await held.hold()

  seen.now += TTL_MS / 2
  const [isKept] = await Promise.all([held.keep(), held.letGo()])

  expect(isKept).toBe(false)
  expect(await isFree('let go meanwhile')).toBe(true)
})

test('a lease that is let go is free at once, and is not renewed with others', async () => {
  const { seen, lease } = counting()
  const [gone, working] = [lease('gone'), lease('going on')]
  await Promise.all([gone.hold(), working.hold()])

  seen.now += TTL_MS / 4
  await Promise.all([gone.hold(), working.hold()])
  seen.now += TTL_MS / 4
  await Promise.all([working.hold(), gone.letGo()])

  expect(await isFree('gone')).toBe(true)
})

test('a lease that was seized is kept and never acquired', async () => {
  const { seen, executor, clock } = counting()
  const terms = { name: 'seized', holder: 'a', ttlMs: TTL_MS }
  const held = new HeldLease(executor, clock, terms, await seizeLease(db, 'seized', 'a', TTL_MS))

  seen.now += TTL_MS / 2
  expect(await held.keep()).toBe(true)
  await seizeLease(db, 'seized', 'b', TTL_MS)
  seen.now += TTL_MS / 2
  expect(await held.keep()).toBe(false)
  expect(await held.keep()).toBe(false)
  expect(await isFree('seized')).toBe(false)
})

test('leases of a process that is gone are free for others, and those of a process at work stay with it', async () => {
  await acquireLease(db, 'left-feed', 'gone', TTL_MS)
  await seizeLease(db, 'gone', 'incarnation', TTL_MS)
  await acquireLease(db, 'at-work-kept', 'at-work', TTL_MS)

  await endLeasesHeldBy(db, 'gone')
  await endLeasesHeldBy(db, 'at-work')
  expect(await acquireLease(db, 'at-work-kept', 'at-work', TTL_MS)).toMatchObject({ generation: 1 })

  expect(await acquireLease(db, 'left-feed', 'other', TTL_MS)).toMatchObject({ generation: 2 })
  expect(await acquireLease(db, 'at-work-kept', 'other', TTL_MS)).toBeUndefined()
  expect(await acquireLease(db, 'gone', 'other', TTL_MS)).toBeUndefined()
  await endProcessLease(db, 'gone', 'an earlier incarnation')
  expect(await acquireLease(db, 'gone', 'other', TTL_MS)).toBeUndefined()
  await endProcessLease(db, 'gone', 'incarnation')
  expect(await acquireLease(db, 'gone', 'other', TTL_MS)).toMatchObject({ holder: 'other' })
})

test('no process has a lease of a database whose processes are all gone', async () => {
  await acquireLease(db, 'restored', 'a', TTL_MS)
  await seizeLease(db, 'restored process', 'b', TTL_MS)

  await endAllLeases(db)

  expect(await isFree('restored')).toBe(true)
  expect(await isFree('restored process')).toBe(true)
})
