import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import type { DrainMove } from '../app/operations/drain-plan.ts'
import { changeMove, openMoves } from './drain-moves.ts'
import { drainWork } from './drain-work.ts'
import { endOperation, runningDrains } from './operations.ts'
import { drainMoves, operations } from './schema/operations.ts'
import { serverIndex } from './schema/servers.ts'

// Goal: a round of a drain reads what it has to do with, however many servers wait, or have moved before.

let db: Database

beforeAll(async () => {
  db = await globalDatabase('drain_work')
})
afterAll(() => db?.[Symbol.asyncDispose]())

interface Drained {
  readonly drain: string
  readonly host: Parameters<typeof drainWork>[2]
}

function drained(): Drained {
  const hostId = newId<HostId>()
  return { drain: newId(), host: { view: { hostId, name: `host-${hostId}` } as never } }
}

const elsewhere = drained().host

async function serverOn({ view: { hostId, name } }: Drained['host']): Promise<string> {
  const serverId = await addServer(db, null)
  await db.orm
    .update(serverIndex)
    .set({ hostId, host: name })
    .where(eq(serverIndex.serverId, serverId))
  return serverId
}

async function moveOf(
  { drain }: Drained,
  state: DrainMove['state'],
  host: Drained['host'],
): Promise<string> {
  const serverId = await serverOn(host)
  await changeMove(db, drain, undefined, {
    ...{ serverId, state, method: 'live', tries: 1, reason: null, requestId: 'req-1' },
    ...{ notBefore: null, startedAt: new Date(), endedAt: null },
  })
  return serverId
}

async function work({ drain, host }: Drained, max: number) {
  const { moves, servers } = await drainWork(db, drain, host, max)
  return { moves: moves.map(({ serverId }) => serverId), servers: servers.map(({ id }) => id) }
}

test('a round reads the moves that have not ended, their servers, and so many others of the host', async () => {
  const of = drained()
  const waiting = await moveOf(of, 'waiting', of.host)
  const moving = await moveOf(of, 'moving', elsewhere)
  const gone = await moveOf(of, 'waiting', elsewhere)
  await moveOf(of, 'moved', elsewhere)
  const fresh = [await serverOn(of.host), await serverOn(of.host)].toSorted()

  const { moves, servers } = await work(of, 1)

  expect(moves.toSorted()).toEqual([waiting, moving, gone].toSorted())
  expect(servers).toEqual([waiting, moving, fresh[0]!].toSorted())
  expect((await openMoves(db, of.drain)).map(({ serverId }) => serverId)).toEqual(
    [waiting, moving, gone].toSorted(),
  )
})

test('servers that are on the host again come after those that it has had all the time', async () => {
  const of = drained()
  const [moved, gone] = [await moveOf(of, 'moved', of.host), await moveOf(of, 'gone', of.host)]
  const fresh = await serverOn(of.host)

  expect(await work(of, 1)).toEqual({ moves: [], servers: [fresh] })
  expect(await work(of, 2)).toEqual({
    moves: [moved, gone].toSorted(),
    servers: [moved, gone, fresh].toSorted(),
  })
})

test('a round reads no more rows for servers that wait for their turn, and for those that have moved', async () => {
  const of = drained()
  const add = async (moved: number, waiting: number) => {
    for (let nth = 0; nth < moved; nth += 1) await moveOf(of, 'moved', elsewhere)
    for (let nth = 0; nth < waiting; nth += 1) await serverOn(of.host)
  }
  await moveOf(of, 'moving', of.host)
  await add(20, 20)
  await db.orm.execute('analyze table drain_moves, server_index')
  const [few, allHere] = [await rowsReadIn(of, 2), await rowsReadIn(of, 1_000)]
  await add(100, 0)
  await db.orm.execute('analyze table drain_moves, server_index')

  expect(await rowsReadIn(of, 1_000)).toBeLessThanOrEqual(allHere + 5)
  await add(0, 100)
  expect(await rowsReadIn(of, 2)).toBeLessThanOrEqual(few + 5)
})

/** How many rows the database reads for a round that looks at so many other servers at most. */
function rowsReadIn(of: Drained, max: number): Promise<number> {
  return db.transaction(async (tx) => {
    const read = async () => {
      const [rows] = await tx.orm.execute("show session status like 'Handler_read%'")
      return (rows as unknown as { Value: string }[]).reduce(
        (sum, row) => sum + Number(row.Value),
        0,
      )
    }
    const before = await read()
    await drainWork(tx, of.drain, of.host, max)
    await openMoves(tx, of.drain)
    return (await read()) - before
  })
}

test('a drain that was cancelled goes on while a server of it moves', async () => {
  const of = drained()
  const row = {
    ...{ id: of.drain, kind: 'host-drain', state: 'running', subjectId: newId(), subject: 'host' },
    ...{ cellId: newId(), userId: 'operator', requestId: 'req-1' },
    ...{ startedAt: new Date(), updatedAt: new Date() },
  }
  await db.orm.insert(operations).values(row)
  const isDue = async () => (await runningDrains(db, '', 10)).some(({ id }) => id === of.drain)

  expect(await isDue()).toBe(true)
  await db.transaction((tx) => endOperation(tx, of.drain, 'cancelled', null))
  expect(await isDue()).toBe(false)
  await moveOf(of, 'moving', of.host)
  expect(await isDue()).toBe(true)
  await db.orm
    .update(drainMoves)
    .set({ state: 'moved' })
    .where(eq(drainMoves.operationId, of.drain))
  expect(await isDue()).toBe(false)
})
