import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { beginHostDrain } from '../../db/operations.ts'
import { guestRestarts } from '../../db/schema/protections.ts'
import { serverIndex } from '../../db/schema/servers.ts'
import type { Compute } from '../compute.ts'
import { evacuateFenced } from './evacuate-fenced.ts'
import { restartGuests } from './restart-guests.ts'
import type { RowReconciler } from './row-reconciler.ts'

// Goal: rows about which nothing can be done now keep no others waiting, however many there are.

/** More than are looked at in a round. */
const MANY = 120
const { signal } = new AbortController()

let db: Database
let serving: CellId
let silent: CellId
let compute: Compute

beforeAll(async () => {
  db = await globalDatabase('starved_rows')
  serving = await addCell(db, 'serving')
  silent = await addCell(db, 'silent')
  const all = [
    { id: serving, isReachable: true },
    { id: silent, isReachable: false },
  ]
  const cells = { cells: () => all, cell: (id: string) => all.find((cell) => cell.id === id) }
  compute = { db, cells } as unknown as Compute
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** The keys of what a round would work on first. */
async function dueKeys<Row>({ due, keyOf }: RowReconciler<Row>): Promise<readonly string[]> {
  return (await due(signal)).map(keyOf)
}

test('a guest is started again while guests of silent cells, and servers in no cell, wait for theirs', async () => {
  const crashed = async (cellId: CellId | null, secondsAgo: number) => {
    const serverId = await addServer(db, cellId)
    const dueAt = new Date(Date.now() - 1_000 * secondsAgo)
    await db.orm.insert(guestRestarts).values({ serverId, restarts: 0, dueAt })
    return serverId
  }
  for (let nth = 0; nth < MANY; nth += 1) await crashed(nth % 2 === 0 ? silent : null, 100)
  const last = await crashed(serving, 1)

  expect(await dueKeys(restartGuests(compute))).toEqual([last])
})

test('a fenced host is evacuated while others keep the servers that wait for them, or are in silent cells', async () => {
  const fencedAt = Date.now()
  const fenced = async (cellId: CellId) => {
    const name = newId<string>()
    const hostId = newId<HostId>()
    const view = { ...sampleHost(name), hostId, isUp: false, isForcedDown: true, fencedAt }
    await db.transaction((tx) => applyHostViews(tx, cellId, [view]))
    const serverId = await addServer(db, cellId)
    const isServer = eq(serverIndex.serverId, serverId)
    await db.orm.update(serverIndex).set({ host: name, hostId }).where(isServer)
    return { hostId, name }
  }
  const drained = async () => {
    const { hostId: subjectId, name: subject } = await fenced(serving)
    const how = { movesServers: true, evacuates: true, parallel: 1, liveOnly: false }
    const by = { userId: '', requestId: 'req-1', reason: null }
    const drain = { subjectId, subject, cellId: serving, fencedAt: new Date(fencedAt), ...how }
    const rest = { toOtherCells: false, deadlineS: null, ...by }
    await db.transaction((tx) => beginHostDrain(tx, { ...drain, ...rest }))
  }
  for (let nth = 0; nth < MANY; nth += 1) await (nth % 2 === 0 ? fenced(silent) : drained())
  const { hostId } = await fenced(serving)

  expect(await dueKeys(evacuateFenced(compute))).toEqual([hostId])
})
