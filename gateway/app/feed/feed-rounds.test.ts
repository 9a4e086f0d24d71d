import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import { volumeView } from '#test/env/fed-volumes.ts'
import { FeedWorld, feedMessage } from '#test/env/feed-world.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { readFeedPosition } from '../../db/cell-mappings.ts'
import { findServer } from '../../db/find-server.ts'
import { type AppliedRows, appliedMeasure } from './measures.ts'

// Goal: each round does the necessary steps and asks the cell no more than that, checked round by round.

let db: Database
let id: CellId
let world: FeedWorld

beforeAll(async () => {
  db = await globalDatabase('feed_rounds')
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

test('a cell without a position is copied in full, and then asked for later rows', async () => {
  expect(await world.round()).toEqual({ holder: 1, instances: 0, missing: 0 })
  expect(world.copies).toHaveLength(1)
  expect(world.wakeUps).toBe(1)

  expect(await world.round()).toEqual({ holder: 1, rows: 0 })
  expect(world.reads).toEqual([{ after: 0, limit: 1_000 }])
  expect(world.copies).toHaveLength(1)

  await world.round()
  expect(world.reads).toHaveLength(1)
})

test('a heartbeat before the first round makes it begin', () => {
  world.beat()

  expect(world.wakeUps).toBe(1)
})

test('published rows are applied without a question', async () => {
  await world.settle()
  const { server, body } = await changed()
  const reports: AppliedRows[] = []
  using _ = appliedMeasure.listen((report) => void reports.push(report))
  const rows = world.commit(body)

  world.publish(rows)

  expect(world.wakeUps).toBe(1)
  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect(await isActive(server)).toBe(true)
  expect(world.reads).toEqual([])
  expect((await readFeedPosition(db, id))?.position).toBe(1)
  expect(reports).toEqual([{ cell: 'north', rows }])
})

test('missed rows are requested as soon as a later row arrives', async () => {
  await world.settle()
  const [first, second] = [await changed(), await changed()]
  world.commit(first.body)
  const later = world.commit(second.body)

  world.publish(later)

  expect(await world.round()).toEqual({ holder: 1, rows: 2 })
  expect(await isActive(first.server)).toBe(true)
  expect(await isActive(second.server)).toBe(true)
})

test('a heartbeat that knows of more makes the round that asks for it begin', async () => {
  await world.settle()
  const { server, body } = await changed()
  world.commit(body)

  world.beat()

  expect(world.wakeUps).toBe(1)
  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect(await isActive(server)).toBe(true)
})

test('a heartbeat that knows of nothing more neither wakes nor asks', async () => {
  await world.settle()
  const { body } = await changed()
  world.publish(world.commit(body))
  await world.round()
  world.wakeUps = 0

  world.beat()

  expect(world.wakeUps).toBe(0)
  await world.round()
  expect(world.reads).toEqual([])
})

test('a heartbeat of another incarnation causes a request, whose answer makes a copy due', async () => {
  await world.settle()
  world.incarnation = newId()

  world.beat()

  expect(world.wakeUps).toBe(1)
  expect(await world.round()).toEqual({ holder: 1, rows: 0 })
  expect(world.wakeUps).toBe(2)
  expect(world.reads).toHaveLength(1)
  expect(await world.round()).toEqual({ holder: 1, instances: 0, missing: 0 })
  expect(await readFeedPosition(db, id)).toMatchObject({ incarnation: world.incarnation })
})

test('a cell that has dropped the next rows is copied', async () => {
  await world.settle()
  world.commit((await changed()).body)
  world.answer = (honest) => ({ ...honest, isGap: true, rows: [] })
  world.beat()

  await world.round()
  await world.round()

  expect(world.copies).toHaveLength(1)
})

test('a heartbeat that claims more than the cell has is asked about once', async () => {
  await world.settle()
  world.beat(100)

  await world.round()
  await world.round()

  expect(world.reads).toHaveLength(1)
  world.beat(100)
  await world.round()
  expect(world.reads).toHaveLength(2)
})

test('pages that end early are read on, each after the last row of the one before', async () => {
  await world.settle()
  for (let each = 0; each < 3; each += 1) world.commit((await changed()).body)
  world.answer = (honest) => ({ ...honest, rows: honest.rows.slice(0, 1) })
  world.beat()

  expect(await world.round()).toEqual({ holder: 1, rows: 3 })

  expect(world.reads.map(({ after }) => after)).toEqual([0, 1, 2])
})

test('rows that are known already are left out of an answer', async () => {
  await world.settle()
  world.publish(world.commit((await changed()).body))
  await world.round()
  world.commit((await changed()).body)
  world.answer = (honest) => ({ ...honest, rows: world.rows })
  world.beat()

  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
})

test('one round asks a hundred times at the most', async () => {
  await world.settle()
  const { server } = await changed()
  const view = activeView(server)
  world.commit(
    ...Array.from({ length: 101 }, (_, index) => {
      return { kind: 'instance', view: { ...view, version: index + 2 } } as const
    }),
  )
  world.answer = (honest) => ({ ...honest, rows: honest.rows.slice(0, 1) })
  world.beat()

  expect(await world.round()).toEqual({ holder: 1, rows: 100 })
  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
})

test('of an answer that is longer than was asked for, no more than that is applied at once', async () => {
  await world.settle()
  const { body } = await changed()
  world.commit(...Array.from({ length: 1_001 }, () => body))
  world.beat()

  expect(await world.round()).toEqual({ holder: 1, rows: 1_001 })

  expect(world.reads.map(({ after }) => after)).toEqual([0, 1_000])
})

test('every five seconds the cell learns which rows it can drop', async () => {
  await world.settle()

  world.now = 5_000
  await world.round()
  expect(world.reads).toEqual([])

  world.now = 5_001
  await world.round()
  expect(world.reads).toEqual([{ after: 0, limit: 1_000 }])
})

test('after the bus was away the cell is asked', async () => {
  await world.settle()

  world.feed.reconnected()

  expect(world.wakeUps).toBe(1)
  await world.round()
  expect(world.reads).toEqual([{ after: 0, limit: 1_000 }])
})

test('after the bus was away pages that end early are read on, without any heartbeat', async () => {
  await world.settle()
  for (let each = 0; each < 3; each += 1) world.commit((await changed()).body)
  world.answer = (honest) => ({ ...honest, rows: honest.rows.slice(0, 1) })

  world.feed.reconnected()

  expect(await world.round()).toEqual({ holder: 1, rows: 3 })
})

test('a heartbeat that claims more than was read is asked about until the cell has nothing more', async () => {
  await world.settle()
  world.commit((await changed()).body)
  world.beat(100)

  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect(world.reads.map(({ after }) => after)).toEqual([0, 1])
})

test('work that ended has an event with its cell', async () => {
  await world.settle()
  const { server } = await changed()
  const event = { serverId: server, requestId: 'req-1', event: 'compute_stop_instance' }
  const ended = {
    startedAt: 1,
    finishedAt: 2,
    result: 'Success',
    host: 'h',
    details: null,
  } as const
  world.publish(world.commit({ kind: 'action-event', event: { ...event, ...ended } }))

  await world.round()

  expect(world.logged.at(-1)).toMatchObject({
    message: 'server work ended',
    fields: { cell: 'north', server_id: server, result: 'Success' },
  })

  const view = volumeView(newId())
  world.publish(world.commit({ kind: 'volume', view, requestId: 'req-2' }))
  await world.round()

  expect(world.logged.at(-1)).toMatchObject({
    message: 'volume work ended',
    fields: { cell: 'north', volume_id: view.volumeId, result: 'Success' },
  })
})

test('rows that cannot be read are logged, and asked for', async () => {
  await world.settle()

  world.live().callback(null, feedMessage({ rows: 'none' }))

  expect(world.logged.at(-1)).toMatchObject({
    level: 'warn',
    message: 'invalid message of a peer dropped',
    fields: { cell: 'north' },
  })
  expect(world.wakeUps).toBe(1)
  await world.round()
  expect(world.reads).toHaveLength(1)
})

test.each([
  ['of more rows than any cell publishes', 1_001, 0],
  ['longer than any cell publishes', 1, 2 ** 20],
])('a batch %s is not taken, and asked for', async (_what, count, bytes) => {
  await world.settle()
  const { body } = await changed()
  const rows = world.commit(...Array.from({ length: count }, () => body))
  const batch = { incarnation: world.incarnation, rows, later: 'x'.repeat(bytes) }

  world.live().callback(null, feedMessage(batch))
  await world.round()

  expect(world.logsOf('warn')).toEqual(['invalid message of a peer dropped'])
  expect(world.reads).not.toEqual([])
})

/** The cell publishes a change above its share of batches. */
async function publishTooMuch(): Promise<void> {
  for (let nth = 0; nth < 500; nth += 1) world.publish([])
  world.wakeUps = 0
  const { body } = await changed()
  world.publish(world.commit(body))
}

test("rows above a cell's share are requested by the next round, if no heartbeat comes first", async () => {
  await world.settle()
  await publishTooMuch()

  expect(await world.round()).toEqual({ holder: 1, rows: 1 })
  expect(world.reads).toHaveLength(1)
})

test("rows above a cell's share are dropped, and requested after a heartbeat", async () => {
  await world.settle()
  await publishTooMuch()

  expect(world.logsOf('warn')).toEqual(['messages of a peer above its limit dropped'])
  expect(world.wakeUps).toBe(0)
  world.beat()
  expect(world.wakeUps).toBe(1)
  await world.round()
  expect(world.reads).toHaveLength(1)
})

test('a subscription the bus reports an error of changes nothing', async () => {
  await world.settle()

  world.live().callback(new Error('no permission'), feedMessage({}))

  expect(world.logsOf('error')).toEqual([])
  expect(world.wakeUps).toBe(0)
})

test('after three reads of rows that should have arrived it subscribes again', async () => {
  await world.settle()
  const miss = async () => {
    world.commit((await changed()).body)
    world.beat()
    await world.round()
  }

  await miss()
  await miss()
  expect(world.subscriptions).toHaveLength(1)
  await miss()

  expect(world.subscriptions.map(({ isOver }) => isOver)).toEqual([true, false])
  expect(world.live().subject).toBe(eventSubject(id, 'feed'))
  await miss()
  await miss()
  expect(world.subscriptions).toHaveLength(2)
})

test('rows that arrive between reads show that the subscription lives', async () => {
  await world.settle()
  for (let each = 0; each < 4; each += 1) {
    world.commit((await changed()).body)
    world.beat()
    await world.round()
    world.publish(world.commit((await changed()).body))
    await world.round()
  }

  expect(world.subscriptions).toHaveLength(1)
})

test('servers that were given up have events', async () => {
  await world.settle()
  const { server, body } = await changed()
  const notBuilt = {
    kind: 'not-built',
    serverId: server,
    attempt: 1,
    reason: 'full',
    at: 1,
  } as const

  world.publish(world.commit(body))
  await world.round()
  expect(world.notBuilt).toBe(0)

  world.publish(world.commit(notBuilt))
  await world.round()
  expect(world.notBuilt).toBe(1)
})
