import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { queueEvents } from './event-inbox.ts'
import { beginEvents, eventsAfter, numberEvents, purgeEvents, readEventState } from './events.ts'

const WRITERS = 6
const EACH = 20
const BATCH = 7

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('events', 'gateway')
  db = new Database({ url, connectionsMax: WRITERS + 3 })
  await beginEvents(db)
})

afterAll(() => db?.[Symbol.asyncDispose]())

/** Commits an event, which others may overtake until `held` resolves. */
function addEvent(name: string, held?: Promise<unknown>): Promise<void> {
  return db.transaction(async (tx) => {
    queueEvents(tx, [{ type: 'cell.state', details: { state: name } }])
    await tx.flush()
    await held
  })
}

const namesAfter = async (n: number) => {
  const events = await eventsAfter(db, n, {}, 1_000)
  return events.map(({ details }) => details.state)
}

test('a reader that has read up to a number misses no event, however late a transaction commits', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const late = addEvent('late', held)
  await addEvent('early')

  expect(await numberEvents(db, 10)).toBe(1)
  const { last } = await readEventState(db)
  letGo()
  await late
  await numberEvents(db, 10)

  expect(await namesAfter(last)).toEqual(['late'])
})

test('with writers at once and two that number, every event has one number, without holes', async () => {
  const { last } = await readEventState(db)
  let isWriting = true
  const number = async () => {
    for (;;) {
      const wasLast = !isWriting
      const count = await numberEvents(db, BATCH).catch((error: unknown) => {
        if (isFailure(error, 'conflict')) return 1
        throw error
      })
      if (count === 0 && wasLast) return
    }
  }
  const numbering = [number(), number()]

  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let nth = 0; nth < EACH; nth += 1) await addEvent(`${writer}.${nth}`)
  })
  await Promise.all(writers)
  isWriting = false
  await Promise.all(numbering)

  const events = await eventsAfter(db, last, {}, 1_000)
  expect(events.map(({ n }) => n)).toEqual(events.map((_, index) => last + index + 1))
  expect(new Set(events.map(({ details }) => details.state)).size).toBe(WRITERS * EACH)
  expect(events).toHaveLength(WRITERS * EACH)
})

test('events are purged from the oldest on, and readers before them get a gap', async () => {
  expect(await purgeEvents(db, new Date(0), 10)).toBe(0)
  const { last } = await readEventState(db)

  const gone = await purgeEvents(db, new Date(Date.now() + 1_000), 10)

  expect(gone).toBe(10)
  expect(await readEventState(db)).toEqual({ last, removed: 10 })
  expect((await eventsAfter(db, 0, {}, 1))[0]?.n).toBe(11)
})
