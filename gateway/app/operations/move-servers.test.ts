import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { movesOf } from '../../db/drain-moves.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { findHost } from '../../db/host-list.ts'
import { beginHostDrain, findHostDrain } from '../../db/operations.ts'
import { queueViews } from '../../db/server-index.ts'
import type { Compute } from '../compute.ts'
import { moveServers } from './move-servers.ts'

// Goal: whenever a gateway dies while it has a server moved, the next one knows whether that has begun.

let db: Database
let cellId: CellId

beforeAll(async () => {
  db = await globalDatabase('move_servers')
  cellId = await addCell(db, 'north')
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** The drain of a host with a server that runs. */
async function drained(): Promise<{ readonly serverId: string; readonly id: string }> {
  const abilities = { capabilities: ['move', 'liveMove'], isDisabled: true }
  const host = sampleHost(newId<string>(), abilities)
  const subjectId = host.hostId as HostId
  const serverId = await addServer(db, cellId)
  const view = activeView(serverId, { hostId: subjectId, host: host.name })
  const how = { movesServers: true, evacuates: false, parallel: 1, liveOnly: false }
  const by = { userId: 'operator', requestId: 'req-1', reason: null, fencedAt: null }
  const subject = { subjectId, subject: host.name, cellId }
  const id = await db.transaction(async (tx) => {
    await applyHostViews(tx, cellId, [host])
    queueViews(tx, cellId, [view])
    return beginHostDrain(tx, { ...subject, ...how, ...by, toOtherCells: false, deadlineS: null })
  })
  return { serverId, id }
}

/** A round of a gateway that begins acts so. */
async function round(
  id: string,
  begins: (first: FirstTransaction) => Promise<unknown>,
): Promise<unknown> {
  const cell = { id: cellId, name: 'north', isReachable: true }
  const compute = {
    ...{ db, clock: systemClock, placementPolicies: { all: () => [] } },
    cells: { cells: () => [cell], cell: () => cell },
    sagas: { start: (_saga: unknown, start: FirstTransaction) => begins(start) },
  } as unknown as Compute
  const drain = (await findHostDrain(db, id))!
  const host = (await findHost(db, drain.subjectId))!
  return moveServers(compute, { ...drain, othersServe: true }, host, true)
}

const committed = async ({ after }: FirstTransaction) => {
  await db.transaction(async (tx) => after?.(tx))
  return { finished: Promise.resolve('done') }
}

test('a gateway that dies before a move has begun leaves it to the next, which tries the same first', async () => {
  const { serverId, id } = await drained()

  await expect(round(id, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed')
  await round(id, committed)

  expect(await movesOf(db, id)).toEqual([
    expect.objectContaining({ serverId, state: 'moving', method: 'live', tries: 1 }),
  ])
})

test('a gateway that dies once a move has begun leaves it as under way', async () => {
  const { serverId, id } = await drained()
  const dies = async (first: FirstTransaction) => {
    await committed(first)
    throw new Error('killed')
  }

  await expect(round(id, dies)).rejects.toThrow('killed')

  expect(await movesOf(db, id)).toEqual([
    expect.objectContaining({ serverId, state: 'moving', method: 'live', tries: 1 }),
  ])
})

test('a move that another gateway has begun meanwhile is its own', async () => {
  const { id } = await drained()

  await round(id, async (first) => {
    await round(id, committed)
    return committed(first)
  })

  expect(await movesOf(db, id)).toMatchObject([{ state: 'moving', tries: 1 }])
})
