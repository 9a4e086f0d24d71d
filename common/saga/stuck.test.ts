import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { workContext } from '../context.ts'
import { Database } from '../db/database.ts'
import { newId, type SagaId } from '../ids.ts'
import { type Lease, seizeLease } from './lease.ts'
import { queueSaga, queueSagaHold } from './log.ts'
import { purgeSagas } from './purge.ts'
import type { SagaState } from './saga.ts'
import { sagas } from './schema.ts'
import { countStuck, readStuck } from './stuck.ts'
import { unfinishedSagas } from './unfinished.ts'

// Goal: what operators are told of sagas that are stuck or take long, and which rows are removed.

let db: Database
let lease: Lease
const work = workContext({})

beforeAll(async () => {
  const url = await migratedDatabase('saga_stuck', 'cells')
  db = new Database({ url, connectionsMax: 2 })
  lease = await seizeLease(db, newId(), newId(), 60_000)
})
beforeEach(() => db.orm.delete(sagas))
afterAll(() => db?.[Symbol.asyncDispose]())

/** A saga that began, and reached this state, so many seconds ago. */
async function sagaIn(state: SagaState, name = 'sample', ageS = 10): Promise<SagaId> {
  const id = newId<SagaId>()
  const record = { id, name, version: 1, subject: `of ${name}`, params: {}, work }
  await db.transaction((tx) => {
    queueSaga(tx, record, lease, { state: 'running' })
    queueSagaHold(tx, id, lease, { state, ...(state === 'stuck' && { why: 'no' }) })
  })
  const at = sql`now(3) - interval ${ageS} second`
  await db.orm.update(sagas).set({ createdAt: at, resumeAt: at }).where(eq(sagas.id, id))
  return id
}

test('stuck sagas are counted, and no others', async () => {
  expect(await countStuck(db)).toBe(0)
  for (const state of ['running', 'unwinding', 'done', 'unwound'] as const) await sagaIn(state)
  expect(await countStuck(db)).toBe(0)
  await sagaIn('stuck')
  await sagaIn('stuck')
  expect(await countStuck(db)).toBe(2)
})

test('the oldest stuck sagas are shown, and those that are asked for in any state, each once', async () => {
  // Ids of one millisecond are in no order of time.
  const [first, second, third] = [
    await sagaIn('stuck'),
    await sagaIn('stuck'),
    await sagaIn('stuck'),
  ].toSorted()
  const running = await sagaIn('running')
  const shown = async (max: number, ...ids: readonly string[]) =>
    (await readStuck(db, max, ids)).map(({ id }) => id)

  expect(await shown(10)).toEqual([first, second, third])
  expect(await shown(2)).toEqual([first, second])
  expect(await shown(1, third!, newId<SagaId>())).toEqual([third, first])
  const asked = [running, second!].toSorted()
  expect(await shown(2, ...asked)).toEqual([...asked, first])
})

test.each([
  ['running', null, false],
  ['unwinding', null, false],
  ['done', null, true],
  ['unwound', null, true],
  ['stuck', 'no', true],
] as const)(
  'a saga that is %s is shown with its request and its times',
  async (state, why, isOver) => {
    const id = await sagaIn(state)

    const [shown] = await readStuck(db, 1, [id])

    const times = { startedAt: expect.any(Date), endedAt: isOver ? expect.any(Date) : null }
    const { requestId } = work
    expect(shown).toEqual({
      id,
      name: 'sample',
      subject: 'of sample',
      state,
      why,
      requestId,
      ...times,
    })
  },
)

test('a saga whose context has no request is shown without one', async () => {
  const id = await sagaIn('stuck')
  await db.orm.update(sagas).set({ work: {} })

  expect(await readStuck(db, 1, [])).toMatchObject([{ id, requestId: null }])
})

test('unfinished sagas are counted by name and state, with the age of the oldest', async () => {
  for (const ageS of [20, 100, 50]) await sagaIn('running', 'boot', ageS)
  await sagaIn('stuck', 'boot', 5)
  await sagaIn('unwinding', 'delete', -60)
  await sagaIn('done')
  await sagaIn('unwound')

  const found = await unfinishedSagas(db)

  const counts = found.map(({ name, state, count }) => `${name} ${state} ${count}`)
  expect(counts.toSorted()).toEqual(['boot running 3', 'boot stuck 1', 'delete unwinding 1'])
  const ageOf = (state: string) => found.find((each) => each.state === state)!.oldestAgeS
  expect(ageOf('running')).toBeGreaterThanOrEqual(100)
  expect(ageOf('stuck')).toBeLessThan(100)
  // The clock of the database was set back since.
  expect(ageOf('unwinding')).toBe(0)
})

test('sagas that ended before a time are removed, at most so many at once, and no unfinished ones', async () => {
  const kept = [await sagaIn('running'), await sagaIn('unwinding'), await sagaIn('stuck')]
  for (const state of ['done', 'unwound', 'done'] as const) await sagaIn(state)
  const soon = new Date(Date.now() + 3_600_000)

  expect(await purgeSagas(db, new Date(Date.now() - 3_600_000), 10)).toBe(0)
  expect(await purgeSagas(db, soon, 2)).toBe(2)
  expect(await purgeSagas(db, soon, 2)).toBe(1)

  const rows = await db.orm.select({ id: sagas.id }).from(sagas)
  expect(rows.map(({ id }) => id).toSorted()).toEqual(kept.toSorted())
})
