import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { acquireLease } from '#common/saga/lease.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { FeedWorld } from '#test/env/feed-world.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { HONEST_SUMMARY } from '#test/env/scripted-cell.ts'
import { requestResync } from '../../db/cell-mappings.ts'
import { findServer } from '../../db/find-server.ts'
import { removeCell } from '../../db/remove-cell.ts'
import { cellMappings } from '../../db/schema/cells.ts'

// Goal: one process applies a cell's feed, while it holds the lease and the cell is there.

const LEASE_TTL_MS = 5_000
const LEASE_RENEW_MS = 1_500

let db: Database
let id: CellId
let world: FeedWorld

beforeAll(async () => {
  db = await globalDatabase('feed_lease')
})
beforeEach(async () => {
  id = await addCell(db, newId())
  world = new FeedWorld(db, id)
})
afterEach(() => world.feed[Symbol.asyncDispose]())
afterAll(() => db?.[Symbol.asyncDispose]())

async function changed(): Promise<{ server: string; body: FeedBody }> {
  const server = await addServer(db, id)
  return { server, body: { kind: 'instance', view: activeView(server) } }
}

const isActive = async (server: string) => (await findServer(db, server))?.vmState === 'active'

test('one gateway at a time applies the feed, and another continues at once when it leaves', async () => {
  await world.settle()
  const second = new FeedWorld(db, id, 'other')

  expect(await second.round()).toEqual({ holder: 0 })
  // Soon enough after the first time for it not to look at the lease again, if it had it.
  expect(await second.round()).toEqual({ holder: 0 })
  expect(second.subscriptions).toEqual([])
  await world.feed[Symbol.asyncDispose]()

  expect(world.live().isOver).toBe(true)
  await expect.poll(second.round).toMatchObject({ holder: 1 })
  await second.feed[Symbol.asyncDispose]()
})

test('a gateway that does not reach the bus leaves the feed to another, and takes it again only when it does', async () => {
  await world.settle()
  const second = new FeedWorld(db, id, 'other')
  world.missing = 'bus'

  expect(await world.round()).toEqual({ holder: 0 })
  expect(world.live().isOver).toBe(true)
  expect(await second.round()).toMatchObject({ holder: 1 })

  await second.feed[Symbol.asyncDispose]()
  expect(await world.round()).toEqual({ holder: 0 })
  world.missing = undefined
  expect(await world.round()).toMatchObject({ holder: 1 })
})

test("the lease and an operator's request are read again after a second and a half", async () => {
  await world.settle()
  await requestResync(db, id)

  world.now = LEASE_RENEW_MS - 1
  await world.round()
  expect(world.copies).toEqual([])

  world.now = LEASE_RENEW_MS
  await world.round()
  expect(world.copies).toHaveLength(1)

  // What came while it was copied may have been dropped with what waited.
  await world.round()
  expect(world.reads).toHaveLength(1)

  await requestResync(db, id)
  world.now = 2 * LEASE_RENEW_MS - 1
  await world.round()
  expect(world.copies).toHaveLength(1)
  world.now = 2 * LEASE_RENEW_MS
  await world.round()
  expect(world.copies).toHaveLength(2)
})

test('an operator’s request for a copy is followed once the registry knows of it', async () => {
  await world.settle()
  await requestResync(db, id)

  world.needsResync = false
  world.now = LEASE_RENEW_MS
  await world.round()
  expect(world.copies).toEqual([])

  world.needsResync = true
  world.now = 2 * LEASE_RENEW_MS
  await world.round()
  expect(world.copies).toHaveLength(1)
})

/** As if the holder had not renewed its lease for longer than it lasts. */
async function expireLease(): Promise<void> {
  await db.orm.execute(
    `update leases set expires_at = expires_at - interval 6 second where name = 'feed:${id}'`,
  )
}

test('a lease that another process has taken ends the subscription, and waiting batches are dropped', async () => {
  await world.settle()
  const { server, body } = await changed()
  world.publish(world.commit(body))
  await expireLease()
  await acquireLease(db, `feed:${id}`, 'other', LEASE_TTL_MS)

  world.now = LEASE_RENEW_MS
  expect(await world.round()).toEqual({ holder: 0 })

  expect(world.live().isOver).toBe(true)
  await expireLease()
  world.now += LEASE_RENEW_MS
  expect(await world.round()).toMatchObject({ holder: 1 })
  // Heard again from here on, so what went by meanwhile is asked for.
  expect(world.subscriptions).toHaveLength(2)
  expect(world.reads).toEqual([{ after: 0, limit: 1_000 }])
  expect(await isActive(server)).toBe(true)
})

test('a position that another process has moved fails the round, and is read again by the next', async () => {
  await world.settle()
  const { server, body } = await changed()
  const rows = world.commit(body, { kind: 'deleted', serverId: server, attempt: 9, at: 1 })
  await db.orm.update(cellMappings).set({ appliedPosition: 1 }).where(eq(cellMappings.id, id))

  world.publish(rows.slice(0, 1))

  await expect(world.round()).rejects.toMatchObject({ kind: 'conflict' })
  expect(await isActive(server)).toBe(false)
  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect(world.reads).toEqual([{ after: 1, limit: 1_000 }])
})

const mapping = async () =>
  (await db.orm.select().from(cellMappings).where(eq(cellMappings.id, id)))[0]!

test('an unreachable cell is asked nothing, and both changes are noted', async () => {
  await world.settle()
  world.isReachable = false
  world.commit((await changed()).body)
  world.beat()

  expect(await world.round()).toEqual({ holder: 1, unreachable: 1 })
  expect(world.reads).toEqual([])
  expect((await mapping()).isUnreachable).toBe(true)

  world.isReachable = true
  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect((await mapping()).isUnreachable).toBe(false)
})

test('a heartbeat between two reads of the position causes no request', async () => {
  await world.settle()
  world.isReachable = false
  world.now = LEASE_RENEW_MS
  await world.round()

  world.beat(100)

  expect(world.wakeUps).toBe(0)
})

test('a cell that has left the registry is asked nothing, and nothing is recorded of it', async () => {
  await world.settle()
  world.isKnown = false
  world.now = LEASE_RENEW_MS

  expect(await world.round()).toEqual({ holder: 1, unreachable: 1 })
  expect(world.reads).toEqual([])
  expect((await mapping()).isUnreachable).toBe(false)
})

test('a cell that was never copied is copied, whichever position its row has', async () => {
  await db.orm.update(cellMappings).set({ needsResync: false }).where(eq(cellMappings.id, id))

  expect(await world.round()).toEqual({ holder: 1, instances: 0, missing: 0 })
  expect(world.reads).toEqual([])
})

test('a round for a cell that has left meanwhile does not fail', async () => {
  await world.settle()
  await db.transaction((tx) => removeCell(tx, id))
  world.now = LEASE_RENEW_MS

  expect(await world.round()).toEqual({ holder: 1, left: 1 })
})

test('the newest heartbeat is noted at once, and then every five seconds', async () => {
  await world.settle()
  expect((await mapping()).lastHeartbeatAt).toBeNull()
  const noted = async (at: number) => {
    await db.orm.update(cellMappings).set({ lastHeartbeatAt: null }).where(eq(cellMappings.id, id))
    world.now = at
    await world.round()
    return (await mapping()).lastHeartbeatAt !== null
  }
  world.beat()

  expect(await noted(0)).toBe(true)
  expect((await mapping()).summary).toEqual(HONEST_SUMMARY)
  expect(await noted(4_999)).toBe(false)
  expect(await noted(5_000)).toBe(true)
})

test('a lease that cannot be given back is left to expire', async () => {
  await world.settle()
  using run = vi.spyOn(db, 'run')
  run.mockRejectedValue(new Error('away'))

  await world.feed[Symbol.asyncDispose]()

  expect(world.logged.at(-1)).toMatchObject({
    level: 'info',
    message: 'feed lease left to expire',
    fields: { cell: 'north' },
  })
})

test('a feed that ends after the bus has closed leaves its subscription alone', async () => {
  await world.settle()
  world.isClosed = true

  await world.feed[Symbol.asyncDispose]()

  expect(world.live().isOver).toBe(false)
})
