import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import type { FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { queueFeedRow, readFeedState } from '../db/feed.ts'

// Goal: nothing committed is ever skipped, though rows become visible in another order than they were written in.

const WRITERS = 24
const ROWS_EACH = 12
const ALL = WRITERS * ROWS_EACH

let cell: TestCell
let one: RunningCell
let two: RunningCell
let db: Database

beforeAll(async () => {
  cell = await testCell('feed')
  one = await cell.addProcess('one')
  two = await cell.addProcess('two')
  db = new Database({ url: cell.databaseUrl, connectionsMax: WRITERS })
})

afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
  await cell?.[Symbol.asyncDispose]()
})

const bodyOf = (serverId: string): FeedBody => ({ kind: 'deleted', serverId, attempt: 1, at: 1 })

/** Writers whose transactions overlap: some commit long after others that began later. */
async function writeAll(): Promise<string[]> {
  const ids: string[] = []
  const write = async (writer: number) => {
    for (let row = 0; row < ROWS_EACH; row += 1) {
      const id = newId()
      ids.push(id)
      await db.transaction(async (tx) => {
        queueFeedRow(tx, [bodyOf(id)])
        await tx.flush()
        await sleep((writer * 7 + row * 13) % 40)
      })
      two.cell.conductor.feedChanged()
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  return ids
}

async function readAll(): Promise<FeedRow[]> {
  const { incarnation } = two.cell
  const rows: FeedRow[] = []
  for (;;) {
    const after = rows.at(-1)?.n ?? 0
    const page: CellAnswer<'feed.read'> = await cell.ask('feed.read', {
      incarnation,
      after,
      limit: 50,
    })
    expect(page.isGap).toBe(false)
    if (page.rows.length === 0) return rows
    rows.push(...page.rows)
  }
}

test('with writers at once and a relay that stops among them, every change has one number, without holes', async () => {
  const writing = writeAll()
  await waitFor('half of the rows', () => cell.feed.length > ALL / 2, 15_000)
  await one[Symbol.asyncDispose]()
  const ids = await writing

  const last = async () => (await readFeedState(db)).last
  await expect.poll(last).toBe(ALL)
  const rows = await readAll()
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: ALL }, (_, index) => index + 1))
  const sent = rows.map(({ body }) => (body.kind === 'deleted' ? body.serverId : body.kind))
  expect(sent.toSorted()).toEqual(ids.toSorted())
  const published = cell.feed.map(({ n }) => n)
  expect(published).toEqual([...new Set(published)].toSorted((a, b) => a - b))
})

test('a position of another incarnation, or of rows that are trimmed, is answered as a gap', async () => {
  const { incarnation } = two.cell
  const other = await cell.ask('feed.read', { incarnation: newId(), after: 0, limit: 10 })
  const future = await cell.ask('feed.read', { incarnation, after: 1_000_000, limit: 10 })

  expect([other.isGap, other.rows, future.isGap]).toEqual([true, [], true])
})
