import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import type { DrainMove } from '../app/operations/drain-plan.ts'
import { beginMove, changeMove, movesAtWork, movesOf } from './drain-moves.ts'
import { beginOperation, endOperation } from './operations.ts'
import { serverIndex } from './schema/servers.ts'

// Goal: no server begins to move once its operation was cancelled, by whatever round.

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

test('a move begins while its operation runs, once', async () => {
  const [id, move] = [await begun(), starting()]

  expect(await beginMove(db, id, undefined, move)).toBe(true)
  expect(await beginMove(db, id, undefined, move)).toBe(false)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: move.serverId, state: 'starting' }])
})

test('none begins after a cancel, and what has begun goes on', async () => {
  const [id, first, second] = [await begun(), starting(), starting()]
  await beginMove(db, id, undefined, first)
  await db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  expect(await beginMove(db, id, undefined, second)).toBe(false)
  expect(await changeMove(db, id, first, { ...first, state: 'moved' })).toBe(true)
  expect(await movesOf(db, id)).toMatchObject([{ serverId: first.serverId, state: 'moved' }])
})

test('a cancel waits for a move that begins', async () => {
  const [id, move] = [await begun(), starting()]
  const cancel = () => db.transaction((tx) => endOperation(tx, id, 'cancelled', null))

  const [isBegun, isCancelled] = await Promise.all([beginMove(db, id, undefined, move), cancel()])

  expect(isCancelled).toBe(true)
  expect(await movesOf(db, id)).toHaveLength(isBegun ? 1 : 0)
})

test('a round reads the moves that have not ended, and those of servers that are on the host again', async () => {
  const [id, here, there] = [await begun(), newId<HostId>(), newId<HostId>()]
  const moved = async (state: DrainMove['state'], hostId: HostId) => {
    const serverId = await addServer(db, null)
    await db.orm.update(serverIndex).set({ hostId }).where(eq(serverIndex.serverId, serverId))
    await changeMove(db, id, undefined, { ...starting(), serverId, state })
    return serverId
  }
  const open = [await moved('waiting', here), await moved('moving', there)]
  const back = await moved('moved', here)
  const left = [await moved('moved', there), await moved('gone', there)]

  const read = (await movesAtWork(db, id, here)).map(({ serverId }) => serverId)

  expect(read).toEqual([...open, back].toSorted())
  expect(await movesOf(db, id)).toHaveLength(read.length + left.length)
})
