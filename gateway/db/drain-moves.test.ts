import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import type { DrainMove } from '../app/operations/drain-plan.ts'
import { beginMove, changeMove, movesOf } from './drain-moves.ts'
import { beginOperation, endOperation } from './operations.ts'

// Goal: no server begins to move once its operation was cancelled, and no more at a time than it says, by whatever round.

const PARALLEL = 2
let db: Database

beforeAll(async () => {
  db = await globalDatabase('drain_moves')
})
afterAll(() => db?.[Symbol.asyncDispose]())

function begun(): Promise<string> {
  const row = {
    ...{ kind: 'host-drain', subjectId: newId(), subject: 'host', cellId: newId() },
    ...{ userId: 'operator', requestId: 'req-1' },
  }
  return db.transaction(async (tx) => (await beginOperation(tx, row)).id)
}

const starting = (): DrainMove => ({
  ...{ serverId: newId(), state: 'starting', method: 'live', tries: 1, reason: null },
  ...{ requestId: 'req-1', notBefore: null, startedAt: new Date(), endedAt: null },
})

const begin = (id: string, move: DrainMove) => beginMove(db, id, undefined, move, PARALLEL)

test('a move begins while its operation runs, once', async () => {
  const [id, move] = [await begun(), starting()]

  expect(await begin(id, move)).toBe(true)
  expect(await begin(id, move)).toBe(false)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: move.serverId, state: 'starting' }])
})

test('none begins after a cancel, and what has begun goes on', async () => {
  const [id, first, second] = [await begun(), starting(), starting()]
  await begin(id, first)
  await db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  expect(await begin(id, second)).toBe(false)
  expect(await changeMove(db, id, first, { ...first, state: 'moved' })).toBe(true)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: first.serverId, state: 'moved' }])
})

test('a cancel waits for a move that begins', async () => {
  const [id, move] = [await begun(), starting()]
  const cancel = () => db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  const [isBegun, isCancelled] = await Promise.all([begin(id, move), cancel()])

  expect(isCancelled).toBe(true)
  expect(await movesOf(db, id)).toHaveLength(isBegun ? 1 : 0)
})

test('no more are under way at a time than may be, however many rounds begin some', async () => {
  const id = await begun()
  const moves = Array.from({ length: 5 }, starting)

  const areBegun = await Promise.all(moves.map((move) => begin(id, move)))

  expect(areBegun.filter(Boolean)).toHaveLength(PARALLEL)
  const first = moves[areBegun.indexOf(true)]!
  await changeMove(db, id, first, { ...first, state: 'moved' })
  expect(await begin(id, starting())).toBe(true)
  expect(await begin(id, starting())).toBe(false)
})
