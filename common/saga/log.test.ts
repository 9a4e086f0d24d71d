import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { workContext } from '../context.ts'
import { Database } from '../db/database.ts'
import { newId, type SagaId } from '../ids.ts'
import { seizeLease } from './lease.ts'
import { adoptSagas, markSaga, queueSaga, releaseSagas } from './log.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('saga_log', 'cells')
  db = new Database({ url, connectionsMax: 4 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

test('a saga on which a process worked when it ended is a suspect until its next step; resting and released sagas are not', async () => {
  const processName = newId()
  const [held, resting, stepped] = [newId<SagaId>(), newId<SagaId>(), newId<SagaId>()]
  const ids = [held, resting, stepped]
  const before = await seizeLease(db, processName, newId(), 10_000)
  await db.transaction(async (tx) => {
    for (const id of ids) {
      const record = { id, name: 'sample', version: 1, subject: id, params: { id } }
      queueSaga(tx, { ...record, work: workContext({}) }, before, { state: 'running' })
    }
  })
  await markSaga(db, resting, before, { state: 'running', pauseMs: 1 })
  const adopt = async () => {
    const lease = await seizeLease(db, processName, newId(), 10_000)
    const found: Record<string, boolean> = {}
    // What rests is due a moment later.
    await expect
      .poll(async () => {
        for (const { id, isSuspect } of await adoptSagas(db, lease, {
          max: 10,
          running: new Set(),
        }))
          found[id] ??= isSuspect
        return Object.keys(found).length
      })
      .toBe(3)
    return { lease, found }
  }

  const first = await adopt()
  expect(first.found).toEqual({ [held]: true, [resting]: false, [stepped]: true })
  await markSaga(db, held, first.lease, { state: 'running' })
  await markSaga(db, stepped, first.lease, { state: 'running', log: [] })
  await releaseSagas(db, first.lease)

  expect((await adopt()).found).toEqual({ [held]: true, [resting]: false, [stepped]: false })
})

test('a resting saga continues although the clock of the database was an hour ahead when its pause began', async () => {
  const processName = newId()
  const lease = await seizeLease(db, processName, newId(), 10_000)
  const [ahead, resting] = [newId<SagaId>(), newId<SagaId>()]
  await db.transaction(async (tx) => {
    for (const id of [ahead, resting]) {
      const record = { id, name: 'sample', version: 1, subject: id, params: { id } }
      queueSaga(tx, { ...record, work: workContext({}) }, lease, { state: 'running' })
    }
    await tx.flush()
    await tx.orm.execute(
      sql`update sagas set resume_at = now(3) + interval 1 hour where id = ${ahead}`,
    )
    await tx.orm.execute(
      sql`update sagas set resume_at = now(3) + interval 3 second where id = ${resting}`,
    )
  })

  const taken = await adoptSagas(db, lease, { max: 10, running: new Set() })

  expect(taken.map(({ id }) => id)).toEqual([ahead])
})

test('sagas at work do not keep a process from taking up those that rest', async () => {
  const processName = newId()
  const lease = await seizeLease(db, processName, newId(), 10_000)
  const record = (id: SagaId) => ({
    id,
    name: 'sample',
    version: 1,
    subject: id,
    params: { id },
    work: workContext({}),
  })
  const [busy, resting, late] = [newId<SagaId>(), newId<SagaId>(), newId<SagaId>()]
  await db.transaction(async (tx) => {
    for (const id of [busy, resting, late]) queueSaga(tx, record(id), lease, { state: 'running' })
    await tx.orm.execute(sql`update sagas set resume_at = resume_at - interval 1 minute
      where id = ${late}`)
  })

  const adopted = await adoptSagas(db, lease, { max: 1, running: new Set([busy]) })

  expect(adopted.map(({ id }) => id)).toEqual([late])
  const others = { max: 2, running: new Set([busy, late]) }
  expect(await adoptSagas(db, lease, others)).toHaveLength(1)
})
