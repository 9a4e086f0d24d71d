import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { workContext } from '../context.ts'
import { Database, type Tx } from '../db/database.ts'
import { newId, type SagaId } from '../ids.ts'
import { type Lease, seizeLease } from './lease.ts'
import {
  adoptSagas,
  type Hold,
  markSaga,
  queueSaga,
  queueSagaHold,
  releaseSagas,
  SagaLost,
} from './log.ts'
import { sagas } from './schema.ts'

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

const step = (name: string) => ({ step: name, event: 'succeeded', data: null }) as const
const leaseOf = (processName = newId<string>()) => seizeLease(db, processName, newId(), 10_000)
const rowOf = async (id: SagaId) => {
  const [row] = await db.orm.select().from(sagas).where(eq(sagas.id, id))
  return row
}

/** Sagas as they are after their first commit. */
async function begun(lease: Lease, ...holds: readonly Hold[]): Promise<readonly SagaId[]> {
  const ids = holds.map(() => newId<SagaId>())
  await db.transaction((tx) => {
    for (const [at, id] of ids.entries()) {
      const record = { id, name: 'sample', version: 1, subject: id, params: {} }
      queueSaga(tx, { ...record, work: workContext({}) }, lease, holds[at]!)
    }
  })
  return ids
}

test('a saga at work is active, and one that rests or has ended is not', async () => {
  const lease = await leaseOf()
  const holds = (['running', 'unwinding', 'done'] as const).map((state) => ({ state }))
  const [running, unwinding, done] = await begun(lease, ...holds)

  expect((await rowOf(running!))?.log).toEqual([])
  const executions = async () =>
    (await Promise.all([running!, unwinding!, done!].map(rowOf))).map((row) => row?.execution)
  expect(await executions()).toEqual(['active', 'active', 'idle'])
  await markSaga(db, running!, lease, { state: 'running', pauseMs: 60_000 })
  await markSaga(db, unwinding!, lease, { state: 'unwinding', pauseMs: 60_000 })
  expect(await executions()).toEqual(['idle', 'idle', 'idle'])
})

test('a saga that was let go of is active once it is taken up, and a suspect remains one', async () => {
  const lease = await leaseOf()
  const [released, kept, suspect] = await begun(
    lease,
    ...([{ state: 'running' }, { state: 'running' }, { state: 'running' }] as const),
  )
  await releaseSagas(db, lease, [released!])
  await db.orm.update(sagas).set({ execution: 'suspect' }).where(eq(sagas.id, suspect!))
  expect((await rowOf(released!))?.execution).toBe('idle')
  expect((await rowOf(kept!))?.execution).toBe('active')

  await adoptSagas(db, lease, { max: 10, running: new Set() })

  expect((await rowOf(released!))?.execution).toBe('active')
  expect((await rowOf(suspect!))?.execution).toBe('suspect')
})

test('a process that has none to take up is given none', async () => {
  expect(await adoptSagas(db, await leaseOf(), { max: 10, running: new Set() })).toEqual([])
})

test('a transaction of a saga that another process has taken is rolled back', async () => {
  const processName = newId<string>()
  const older = await leaseOf(processName)
  const [id] = await begun(older, { state: 'running' })
  await adoptSagas(db, await leaseOf(processName), { max: 1, running: new Set() })

  const late = db.transaction((tx) => queueSagaHold(tx, id!, older, { state: 'done' }))

  await expect(late).rejects.toThrow(SagaLost)
  expect((await rowOf(id!))?.state).toBe('running')
})

test.each([
  ['the state', { state: 'done' }, { state: 'done' }, true],
  ['another state', { state: 'running' }, { state: 'done' }, false],
  ['as many steps', { state: 'running', log: [step('a')] }, { log: [step('a')] }, true],
  ['more steps', { state: 'running', log: [step('a'), step('b')] }, { log: [step('a')] }, true],
  ['fewer steps', { state: 'running', log: [] }, { log: [step('a')] }, false],
  ['no row, for a state', undefined, { state: 'done' }, false],
  ['no row, for a step', undefined, { log: [step('a')] }, false],
] as const)(
  'a row with %s shows whether a transaction has committed',
  async (_, row, of, shows) => {
    const lease = await leaseOf()
    const [id = newId<SagaId>()] = row === undefined ? [] : await begun(lease, row)
    let hasCommitted: Parameters<Tx['shownBy']>[0] | undefined
    const tx = { queue: () => undefined, shownBy: (look) => (hasCommitted = look) } as Partial<Tx>

    queueSagaHold(tx as Tx, id, lease, { state: 'running', ...of })

    expect(await hasCommitted?.(db)).toBe(shows)
  },
)
