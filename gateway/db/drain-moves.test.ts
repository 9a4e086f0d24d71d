import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { globalDatabase } from '#test/env/indexed-servers.ts'
import type { DrainMove } from '../app/operations/drain-plan.ts'
import { beginMove, changeMove, movesOf } from './drain-moves.ts'
import { beginOperation, endOperation } from './operations.ts'
import { drainMoves } from './schema/operations.ts'

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

const moving = (): DrainMove => ({
  ...{ serverId: newId(), state: 'moving', method: 'live', tries: 1, reason: null },
  ...{ requestId: 'req-1', notBefore: null, startedAt: new Date(), endedAt: null },
})

const begin = (id: string, move: DrainMove) =>
  db.transaction((tx) => beginMove(tx, id, undefined, move, PARALLEL))

test('a move begins while its operation runs, once', async () => {
  const [id, move] = [await begun(), moving()]

  expect(await begin(id, move)).toBe(true)
  expect(await begin(id, move)).toBe(false)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: move.serverId, state: 'moving' }])
})

test('none begins after a cancel, and what has begun goes on', async () => {
  const [id, first, second] = [await begun(), moving(), moving()]
  await begin(id, first)
  await db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  expect(await begin(id, second)).toBe(false)
  expect(await changeMove(db, id, first, { ...first, state: 'moved' })).toBe(true)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: first.serverId, state: 'moved' }])
})

test('a cancel waits for a move that begins', async () => {
  const [id, move] = [await begun(), moving()]
  const cancel = () => db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  const [isBegun, isCancelled] = await Promise.all([begin(id, move), cancel()])

  expect(isCancelled).toBe(true)
  expect(await movesOf(db, id)).toHaveLength(isBegun ? 1 : 0)
})

test('no more are under way at a time than may be, however many rounds begin some', async () => {
  const id = await begun()
  const moves = Array.from({ length: 5 }, moving)

  const areBegun = await Promise.all(moves.map((move) => begin(id, move)))

  expect(areBegun.filter(Boolean)).toHaveLength(PARALLEL)
  const first = moves[areBegun.indexOf(true)]!
  await changeMove(db, id, first, { ...first, state: 'moved' })
  expect(await begin(id, moving())).toBe(true)
  expect(await begin(id, moving())).toBe(false)
})

test('a move that a gateway of the last release was about to begin is under way', async () => {
  const [id, move] = [await begun(), moving()]
  await begin(id, move)
  await db.orm.update(drainMoves).set({ state: 'starting' })

  expect(await movesOf(db, id)).toMatchObject([{ serverId: move.serverId, state: 'moving' }])
  expect(await changeMove(db, id, move, { ...move, state: 'moved' })).toBe(true)
})
