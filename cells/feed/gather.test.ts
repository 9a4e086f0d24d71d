import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { beginFeed, queueFeedRow } from '../db/feed.ts'
import { FeedRelay } from './feed-relay.ts'

// Goal: a change goes out in a moment, and of many that come at once more go out together.

const MOMENT_MS = 5
const BUSY_MS = 25

let db: Database

beforeAll(async () => {
  db = new Database({ url: await migratedDatabase('feed_gather', 'cells'), connectionsMax: 4 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

async function write(rows: number): Promise<void> {
  const bodies = Array.from({ length: rows }, () => {
    return { kind: 'deleted', serverId: newId<string>(), attempt: 1, at: 1 } as const
  })
  await db.transaction(async (tx) => queueFeedRow(tx, bodies))
}

/** Relays `rows` changes, and one more if `comesMeanwhile`, then a last one; returns how long each was gathered. */
async function gathered(rows: number, comesMeanwhile: boolean): Promise<readonly number[]> {
  const pauses: number[] = []
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      if (ms <= BUSY_MS) pauses.push(ms)
      return systemClock.sleep(ms, signal)
    },
  }
  let left = comesMeanwhile ? 1 : 0
  const sent: number[] = []
  const nats = {
    subscribe: () => ({ unsubscribe: () => undefined }),
    isClosed: () => false,
    publish: (_subject: string, payload: string) => {
      sent.push((JSON.parse(payload) as { readonly rows: readonly unknown[] }).rows.length)
      if (left-- > 0) relay.wake()
    },
  } as unknown as NatsConnection
  const { incarnation } = await beginFeed(db)
  const of = {
    db,
    nats,
    clock,
    log: {} as Logger,
    cellId: newId<CellId>(),
    holder: newId<string>(),
  }
  await using relay = new FeedRelay({ ...of, incarnation })
  await write(rows)
  relay.wake()
  await expect.poll(() => sent).toEqual([rows])
  await expect.poll(() => pauses.length).toBe(comesMeanwhile ? 2 : 1)
  await write(1)
  relay.wake()
  await expect.poll(() => sent).toEqual([rows, 1])
  return pauses.slice(0, 2)
}

test.each([
  ['no others come meanwhile', 10, false, MOMENT_MS],
  ['few came before', 3, true, MOMENT_MS],
  ['many came before, and more come', 4, true, BUSY_MS],
] as const)('how long changes are gathered where %s', async (_, rows, comesMeanwhile, thenMs) => {
  expect(await gathered(rows, comesMeanwhile)).toEqual([MOMENT_MS, thenMs])
})
