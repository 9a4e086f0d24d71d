import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import type { IsolatedEnd } from '#common/isolated/isolated-process.ts'
import { createLogger } from '#common/log.ts'
import { type Lease, seizeLease } from '#common/saga/lease.ts'
import type { Json } from '#common/saga/saga.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import {
  continueRow,
  countStuckRows,
  findStuckRow,
  listStuckRows,
  purgeReconcilerRows,
  takeRows,
} from '../../db/reconciler-rows.ts'
import { runningAmong } from '../../db/running-operations.ts'
import { reconcilerRows } from '../../db/schema/operations.ts'
import { byRow, type IsolatedRow, type RowReconciler } from './row-reconciler.ts'

// Goal: a row on which a process worked when it ended never ends the next process, and no process drops it without a record.

const log = createLogger('test', 'error')
const { signal } = new AbortController()
let db: Database
let worked: string[]
let asides: string[]
let tried: string[]

beforeAll(async () => {
  const url = await migratedDatabase('reconciler_rows', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
})
beforeEach(async () => {
  ;[worked, asides, tried] = [[], [], []]
  await db.orm.delete(reconcilerRows)
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** The lease of a process that lives; a process of the same name that had one has ended. */
function lives(name: string): Promise<Lease> {
  return seizeLease(db, name, newId(), 60_000)
}

function rowsOf(keys: readonly string[], change: Partial<RowReconciler<string>> = {}) {
  const work = async (key: string) => void worked.push(key)
  const due = () => Promise.resolve(keys)
  return { name: 'sample', everyMs: 1, due, keyOf: (key: string) => key, work, ...change }
}

/** One round of a process; isolated suspects end as `ends` says. */
function round(
  lease: Lease,
  each: RowReconciler<string>,
  ends: Readonly<Record<string, IsolatedEnd>> = {},
) {
  const run = async (task: Json): Promise<IsolatedEnd> => {
    const { row } = task as unknown as IsolatedRow
    tried.push(row)
    return ends[row] ?? { kind: 'ended', answer: null }
  }
  const guard = { db, log, sagas: { lease }, isolated: { run } }
  return byRow(each, guard).round(signal)
}

const rowStates = async () => {
  const rows = await db.orm.select().from(reconcilerRows)
  return Object.fromEntries(rows.map(({ rowId, state }) => [rowId, state]))
}

test('a round comes to all rows, though those of full batches stay due', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e']
  const due = async (_signal: AbortSignal, after = '') =>
    keys.filter((key) => key > after).slice(0, 2)

  await round(await lives('one'), rowsOf(keys, { due, batch: 2 }))

  expect(worked).toEqual(keys)
})

test('rows on which a process worked when it ended are tried in an isolated process, and the guilty one is stuck until an operator continues it', async () => {
  const keys = ['guilty', 'innocent', 'unclear']
  await takeRows(db, await lives('one'), 'sample', keys)
  const lease = await lives('one')
  const why = 'It ended its process with code 3.'
  const ends = { guilty: { kind: 'guilty', why }, unclear: { kind: 'left' } } as const

  await round(lease, rowsOf([...keys, 'new']), ends)

  expect(worked).toEqual(['new'])
  expect(tried.toSorted()).toEqual(keys)
  await expect.poll(rowStates).toEqual({ guilty: 'stuck', unclear: 'suspect' })
  expect(await countStuckRows(db)).toBe(1)
  const [stuck] = await listStuckRows(db, 'g', 10, 'failed')
  expect(stuck).toMatchObject({ kind: 'sample', subject: 'guilty', state: 'failed' })
  expect(stuck?.message).toContain(why)

  // Another gateway leaves it alone, too.
  await round(await lives('two'), rowsOf(['guilty']))
  expect(tried).toHaveLength(3)
  expect(await continueRow(db, stuck!.id)).toBe(true)
  expect(await continueRow(db, stuck!.id)).toBe(false)
  await round(await lives('two'), rowsOf(['guilty']))
  expect(tried).toHaveLength(4)
  await expect.poll(rowStates).toEqual({ guilty: 'ended', unclear: 'suspect' })
  expect(worked).toEqual(['new'])
})

test('an operator who continued a row sees it run, and its end until that is purged', async () => {
  await takeRows(db, await lives('seven'), 'sample', ['poor'])
  const lease = await lives('seven')
  await round(lease, rowsOf(['poor']), { poor: { kind: 'guilty', why: 'It looped.' } })
  await expect.poll(rowStates).toEqual({ poor: 'stuck' })
  const [stuck] = await listStuckRows(db, 'g', 10)
  const { id } = stuck!
  const shown = () => findStuckRow(db, id)

  await continueRow(db, id)
  expect(await shown()).toMatchObject({ state: 'running', message: null, endedAt: null })
  expect(await runningAmong(db, [id])).toEqual(new Set([id]))
  await round(await lives('eight'), rowsOf(['poor']))
  await expect.poll(shown).toMatchObject({ id, state: 'done', endedAt: expect.any(Date) })
  expect(await runningAmong(db, [id])).toEqual(new Set())

  // Due again, it is a row as any other.
  await round(await lives('eight'), rowsOf(['poor']))
  expect(worked).toEqual(['poor'])
  expect(await shown()).toMatchObject({ id, state: 'done' })
  await purgeReconcilerRows(db, new Date('2100-01-01'), 10)
  expect(await shown()).toBeUndefined()
})

test('a reconciler that can do without a row sets it aside itself', async () => {
  await takeRows(db, await lives('three'), 'sample', ['bad'])
  const setAside = async (key: string, why: string) => void asides.push(`${key}: ${why}`)
  const ends = { bad: { kind: 'guilty', why: 'It looped.' } } as const

  await round(await lives('three'), rowsOf(['bad'], { setAside }), ends)

  await expect.poll(rowStates).toEqual({})
  expect(asides).toEqual(['bad: It looped.'])
})

test('rows of a living process are left to it, and no row stays recorded after a round', async () => {
  const other = await lives('four')
  await takeRows(db, other, 'sample', ['theirs'])
  const seen: object[] = []
  const work = async () => void seen.push(await rowStates())

  await round(await lives('five'), rowsOf(['theirs', 'ours'], { work }))

  expect(seen).toEqual([{ theirs: 'held', ours: 'held' }])
  expect(await rowStates()).toEqual({ theirs: 'held' })
  expect(tried).toEqual([])
})

test('a row at which the work fails is for the next round', async () => {
  const silent = { ...log, error: () => undefined } as unknown as typeof log
  const work = () => Promise.reject(new Error('broken'))
  const lease = await lives('six')
  const guard = { db, log: silent, sagas: { lease } }

  expect(await byRow(rowsOf(['a', 'b'], { work }), guard).round(signal)).toMatchObject({ left: 2 })

  expect(await rowStates()).toEqual({})
})

test('a round goes on as long as a whole batch is due, and works on no row twice', async () => {
  const left = ['a', 'b', 'c', 'd', 'e']
  const stays = ['broken']
  const due = async () => [...stays, ...left].slice(0, 3)
  const work = async (key: string) => {
    worked.push(key)
    if (left.includes(key)) left.splice(left.indexOf(key), 1)
  }
  const lease = await lives('nine')

  const guard = { db, log, sagas: { lease } }
  const report = await byRow(rowsOf([], { due, work, batch: 3 }), guard).round(signal)

  expect(worked).toEqual(['broken', 'a', 'b', 'c', 'd', 'e'])
  expect(report).toMatchObject({ due: 6, left: 0 })
  expect(await rowStates()).toEqual({})
  // Without a batch it leaves the others to the next round.
  left.push('f', 'g', 'h')
  worked = []
  await byRow(rowsOf([], { due, work }), guard).round(signal)
  expect(worked).toEqual(['broken', 'f', 'g'])
})
