import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { seizeLease } from '#common/saga/lease.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { beginHostDrain, findHostDrain } from '../../db/operations.ts'
import { volumeMoves } from '../../db/schema/operations.ts'
import { guestRestarts } from '../../db/schema/protections.ts'
import { serverIndex } from '../../db/schema/servers.ts'
import type { Compute } from '../compute.ts'
import { drainHosts } from './drain-hosts.ts'
import { endMissing } from './end-missing.ts'
import { evacuateFenced } from './evacuate-fenced.ts'
import { finishVolumeMoves } from './finish-volume-moves.ts'
import { restartGuests } from './restart-guests.ts'
import { byRow, type RowReconciler } from './row-reconciler.ts'

// Goal: rows about which nothing can be done now keep no others waiting, however many there are.

/** More than are looked at in a round. */
const MANY = 120
const { signal } = new AbortController()
const log = createLogger('test', 'error')

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
  const operations = { notify: () => {} }
  compute = { db, cells, log, operations } as unknown as Compute
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** The keys of what a round would work on first. */
async function dueKeys<Row>(each: RowReconciler<Row>): Promise<readonly string[]> {
  return (await each.due(signal)).map((row) => each.keyOf(row))
}

test('a drain comes to its end while many others wait for their cells', async () => {
  const drained = (subjectId: HostId, cellId: CellId) => {
    const how = { movesServers: true, evacuates: false, parallel: 1, liveOnly: false }
    const by = { userId: 'operator', requestId: 'req-1', reason: null, fencedAt: null }
    const drain = { subjectId, subject: subjectId, cellId, toOtherCells: false, deadlineS: null }
    return db.transaction((tx) => beginHostDrain(tx, { ...drain, ...how, ...by }))
  }
  for (let nth = 0; nth < MANY; nth += 1) {
    const view = sampleHost(newId<string>(), { isDisabled: true })
    await db.transaction((tx) => applyHostViews(tx, silent, [view]))
    await drained(view.hostId as HostId, silent)
  }
  const last = await drained(newId<HostId>(), serving)
  const lease = await seizeLease(db, 'one', newId(), 60_000)

  await byRow(drainHosts(compute), { db, log, sagas: { lease } }).round(signal)

  expect(await findHostDrain(db, last)).toMatchObject({
    ...{ state: 'done', message: 'The host is gone.' },
  })
})

test('what a move has left of a volume is deleted while cells that have left keep more', async () => {
  const leftIn = async (leftCellId: CellId) => {
    const operationId = newId<string>()
    const volume = { volumeId: newId<string>(), toCellId: newId<string>(), attempt: 1 }
    await db.orm.insert(volumeMoves).values({ operationId, ...volume, leftCellId, leftAttempt: 1 })
    return operationId
  }
  for (let nth = 0; nth < MANY; nth += 1) await leftIn(newId<CellId>())
  const last = await leftIn(serving)

  expect(await dueKeys(finishVolumeMoves(compute))).toEqual([last])
})

test('a server that its cell has deleted is found among any number that are missing', async () => {
  const missing = async (secondsAgo: number) => {
    const serverId = await addServer(db, serving)
    const missingSince = new Date(Date.now() - 1_000 * secondsAgo)
    const isServer = eq(serverIndex.serverId, serverId)
    await db.orm.update(serverIndex).set({ missingSince }).where(isServer)
    return serverId
  }
  const deleted = await missing(1_000)
  for (let nth = 0; nth < 500; nth += 1) await missing(1)
  const askCell = async (_cell: unknown, _name: string, { serverIds }: { serverIds: string[] }) => {
    const ended = serverIds.filter((id) => id === deleted)
    return { ended: ended.map((serverId) => ({ serverId, attempt: 1 })) }
  }

  expect(await dueKeys(endMissing({ ...compute, askCell } as unknown as Compute))).toEqual([
    deleted,
  ])
})

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
