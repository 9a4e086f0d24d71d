import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { CellHeartbeat } from '#openapi/wire/feed.ts'
import { FeedWorld } from '#test/env/feed-world.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { HONEST_SUMMARY } from '#test/env/scripted-cell.ts'
import { findServer } from '../../db/find-server.ts'
import { Feeds } from './feeds.ts'

// Goal: each cell there is has one feed, and one that is gone has none.

type Listener = (cell: string, beat: CellHeartbeat) => void

let db: Database
let id: CellId
/** What the feeds of all cells see: their bus, and what a cell answers. */
let world: FeedWorld
let feeds: Feeds
let cells: { readonly id: CellId; readonly name: string; readonly isReachable: boolean }[]
let listeners: Set<Listener>
let applied: number
/** How many reconcilers wait for their next round. */
let pauses: number

function openFeeds(clock: Clock): Feeds {
  const registry = {
    cells: () => cells,
    cell: (wanted: string) => cells.find((each) => each.id === wanted),
    onHeartbeat(listener: Listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return new Feeds({
    deps: { ...world.deps, clock, cells: registry as never },
    processName: 'me',
    nats: world.bus() as never,
    reach: world,
    onApplied: () => (applied += 1),
    onNotBuilt: () => undefined,
  })
}

beforeAll(async () => {
  db = await globalDatabase('feeds')
})
beforeEach(async () => {
  const name = newId()
  id = await addCell(db, name)
  world = new FeedWorld(db, id)
  cells = [{ id, name, isReachable: true }]
  listeners = new Set()
  applied = 0
  pauses = 0
  feeds = openFeeds(systemClock)
})
afterEach(() => feeds[Symbol.asyncDispose]())
afterAll(() => db?.[Symbol.asyncDispose]())

const statusNames = () => feeds.status().map(({ name }) => name)
const receive = (cell: string, position: number) => {
  const { incarnation } = world
  const rest = { process: 'p', at: 1, summary: HONEST_SUMMARY, labels: {} }
  for (const listener of listeners) listener(cell, { incarnation, position, ...rest })
}

/** The cell's feed has been copied, and asked what came since. */
const settled = () => expect.poll(() => world.reads.length).toBeGreaterThan(0)

/** A change that the cell has committed and not published. */
async function commit() {
  const server = await addServer(db, id)
  world.commit({ kind: 'instance', view: activeView(server) })
  return async () => (await findServer(db, server))?.vmState
}

test('a cell has one feed, which ends when the cell goes', async () => {
  await settled()
  const rounds = () => feeds.status()[0]?.rounds ?? 0
  const before = rounds()
  // The cells are looked at again between two of these rounds, which begin as often.
  await expect.poll(rounds).toBeGreaterThan(before + 1)
  expect(statusNames()).toEqual([`feed of ${cells[0]?.name}`])
  expect(world.subscriptions).toHaveLength(1)

  cells = []
  await expect.poll(statusNames).toEqual([])
  await expect.poll(() => world.live().isOver).toBe(true)
})

test('a heartbeat with a higher position is followed, and its rows have events; without rows there are none', async () => {
  await settled()
  await expect.poll(() => feeds.status()[0]?.rounds).toBeGreaterThan(1)
  expect(applied).toBe(0)
  const stateOf = await commit()

  receive(newId(), 100)
  receive(id, 1)

  await expect.poll(stateOf).toBe('active')
  await expect.poll(() => applied).toBe(1)
})

test('without the bus the feeds are left to other gateways', async () => {
  await settled()

  world.missing = 'bus'

  await expect.poll(() => feeds.status()[0]?.lastReport).toEqual({ holder: 0 })
})

/** With it nothing begins that nothing wakes. */
const asleep: Clock = {
  ...systemClock,
  sleep: async (_, signal) => {
    pauses += 1
    await systemClock.sleep(600_000, signal).finally(() => (pauses -= 1))
  },
}

/** Feeds with nothing left to do, which begin a round only when they are woken. */
async function fallAsleep(): Promise<void> {
  await settled()
  await feeds[Symbol.asyncDispose]()
  feeds = openFeeds(asleep)
  await expect.poll(() => feeds.status()[0]?.lastReport).toEqual({ holder: 1, rows: 0 })
}

test('after the bus was away every cell is asked at once', async () => {
  await fallAsleep()
  const stateOf = await commit()

  feeds.reconnected()

  await expect.poll(stateOf).toBe('active')
})

test('feeds begin a round at once when they are woken, or hear of more', async () => {
  await fallAsleep()
  const before = feeds.status()[0]!.rounds

  feeds.wakeAll()
  await expect.poll(() => feeds.status()[0]?.rounds).toBe(before + 1)
  const stateOf = await commit()
  receive(id, 1)

  await expect.poll(stateOf).toBe('active')
})

test('after the end no message is received, and no feed continues', async () => {
  await fallAsleep()
  await expect.poll(() => pauses).toBe(2)

  await feeds[Symbol.asyncDispose]()

  expect(listeners.size).toBe(0)
  expect(statusNames()).toEqual([])
  expect(world.live().isOver).toBe(true)
  expect(pauses).toBe(0)
  // The bus may still hand over what it had received.
  world.publish([])
})
