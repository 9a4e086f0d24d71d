import type { NatsConnection } from '@nats-io/transport-node'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { Database, type Executor } from '#common/db/database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { WORK_KINDS, type WorkKind } from '../../db/waiting-work.ts'
import { pollAfterCommits, watchWork } from './watch-work.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('watch-work', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** A watch, the reconcilers it has woken, and how many statements that took. */
function watching() {
  const seen = { woken: [] as WorkKind[], statements: 0, now: 0 }
  const counting: Executor = {
    orm: db.orm,
    run: (...call) => db.run(...call),
    rows: (...call) => {
      seen.statements += 1
      return db.rows(...call)
    },
  }
  const clock: Clock = { ...systemClock, elapsed: () => seen.now }
  const wake = Object.fromEntries(
    WORK_KINDS.map((kind) => [kind, () => seen.woken.push(kind)]),
  ) as unknown as Record<WorkKind, () => void>
  const sagas = { lease: { name: 'me', holder: 'h', generation: 1 }, hasLetGo: false }
  const reconciler = watchWork({ db: counting, clock, sagas }, wake)
  const round = async () => {
    seen.woken = []
    await reconciler.round(new AbortController().signal)
    return seen.woken
  }
  return { seen, sagas, round, reconciler }
}

test('while there is nothing to do, one statement says so and no reconciler is woken', async () => {
  const { seen, round, reconciler } = watching()
  const { everyMs: atFirst } = reconciler

  expect(await round()).toEqual([])
  expect(seen.statements).toBe(1)
  expect(reconciler.everyMs).toBeGreaterThan(atFirst)
})

test('the reconciler of waiting work is woken at once, and then at its interval', async () => {
  const { seen, round } = watching()
  await db.orm.execute(sql`insert into event_inbox (type, at, details) values ('x', now(3), '{}')`)
  await db.orm.execute(sql`insert into server_intents (id, server_id, action, user_id, project_id, work, created_at)
    values ('i', 's', 'start', 'u', 'p', '{}', now(3))`)

  expect(await round()).toEqual(['events', 'intents'])
  seen.now += 200
  expect(await round()).toEqual(['events'])
  seen.now += 400
  expect(await round()).toEqual(['events', 'intents'])
  await db.orm.execute(sql`delete from event_inbox`)
  await db.orm.execute(sql`delete from server_intents`)
  seen.now += 1_000
  expect(await round()).toEqual([])
})

test('sagas are taken up where there may be some, and others are not looked for more often then', async () => {
  const { seen, sagas, round, reconciler } = watching()
  expect(await round()).toEqual([])
  const { everyMs: whileIdle } = reconciler

  sagas.hasLetGo = true
  expect(await round()).toEqual(['sagas'])
  sagas.hasLetGo = false
  await db.orm.execute(sql`insert into leases (name, holder, generation, expires_at)
    values ('gone', 'g', 1, now(3) - interval 1 second)`)
  await db.orm.execute(sql`insert into sagas
    (id, name, version, subject, state, params, log, work, owner, generation, resume_at, created_at)
    values ('s', 'x', 1, 'y', 'running', '{}', '[]', '{}', 'gone', 1, now(3), now(3))`)
  expect(await round()).toEqual([])
  seen.now += 1_000
  expect(await round()).toEqual(['sagas'])
  expect(reconciler.everyMs).toBe(whileIdle)
  await db.orm.execute(sql`delete from sagas`)
  seen.now += 1_000
  expect(await round()).toEqual([])
})

test('commits of any gateway are looked after, some together, and none after the end', async () => {
  const listeners = new Set<() => void>()
  let published = 0
  const nats = {
    isClosed: () => false,
    publish: () => {
      published += 1
      for (const listener of listeners) listener()
    },
    subscribe: (_: string, { callback }: { callback: () => void }) => {
      listeners.add(callback)
      return { unsubscribe: () => listeners.delete(callback) }
    },
  } as unknown as Pick<NatsConnection, 'subscribe' | 'publish' | 'isClosed'>
  let polls = 0
  let pollsElsewhere = 0
  const here = pollAfterCommits({ db, nats, clock: systemClock }, () => (polls += 1))
  const silent = { onCommit: () => () => {} }
  const elsewhere = pollAfterCommits({ db: silent, nats, clock: systemClock }, () => {
    pollsElsewhere += 1
  })
  const commit = () => db.transaction(async () => undefined)

  await commit()
  expect([polls, pollsElsewhere]).toEqual([1, 1])
  await Promise.all(Array.from({ length: 20 }, commit))
  await expect.poll(() => [polls, pollsElsewhere]).toEqual([2, 2])
  here[Symbol.dispose]()
  elsewhere[Symbol.dispose]()
  await commit()

  expect([listeners.size, published]).toEqual([0, 2])
})
