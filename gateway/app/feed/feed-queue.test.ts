import { expect, test } from 'vitest'
import { PAGE_MAX_BYTES } from '#common/bus/within-bytes.ts'
import { FeedQueue, readBatch } from './feed-queue.ts'

// Goal: what was published is applied without holes and without repetitions, and a hole is noticed.

const INCARNATION = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
const at = (position: number) => ({ incarnation: INCARNATION, position, needsResync: false })
const row = (n: number) => ({
  n,
  body: { kind: 'deleted', serverId: 's', attempt: 1, at: 0 } as const,
})
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => row(from + index))
const batch = (from: number, to: number, incarnation = INCARNATION) => ({
  incarnation,
  rows: rows(from, to),
})
const numbers = (taken: ReturnType<FeedQueue['take']>) => taken.rows.map(({ n }) => n)

function queueOf(...batches: ReturnType<typeof batch>[]): FeedQueue {
  const queue = new FeedQueue()
  for (const each of batches) queue.push(each)
  return queue
}

test('rows come in order, and once', () => {
  const queue = queueOf(batch(1, 2), batch(3, 3))

  expect(queue.take(at(0), 10)).toEqual({ rows: rows(1, 3), isGap: false })
  expect(queue.take(at(3), 10)).toEqual({ rows: [], isGap: false })
})

test('rows that are known already are skipped, also inside a batch', () => {
  const queue = queueOf(batch(1, 3), batch(2, 5), batch(1, 4))

  const taken = queue.take(at(2), 10)

  expect(numbers(taken)).toEqual([3, 4, 5])
  expect(taken.isGap).toBe(false)
})

test('a batch that does not continue the queue is dropped and reported, and its continuation is taken', () => {
  const queue = queueOf(batch(1, 1), batch(3, 3), batch(2, 2))

  expect(queue.take(at(0), 10)).toEqual({ rows: rows(1, 2), isGap: true })
  expect(queue.take(at(2), 10)).toEqual({ rows: [], isGap: false })
})

test('a hole inside a batch drops the whole batch', () => {
  const queue = queueOf({ incarnation: INCARNATION, rows: [row(1), row(3)] })

  expect(queue.take(at(0), 10)).toEqual({ rows: [], isGap: true })
})

test('rows of another incarnation are dropped and reported', () => {
  const queue = queueOf(batch(1, 1, OTHER), batch(1, 2))

  expect(queue.take(at(0), 10)).toEqual({ rows: rows(1, 2), isGap: true })
})

test('at most `max` rows are taken, and then the rest of a batch', () => {
  const queue = queueOf(batch(1, 2), batch(3, 4), batch(5, 6))

  expect(numbers(queue.take(at(0), 3))).toEqual([1, 2, 3, 4])
  expect(numbers(queue.take(at(4), 2))).toEqual([5, 6])
})

test('exactly `max` rows end the taking', () => {
  const queue = queueOf(batch(1, 2), batch(3, 4))

  expect(numbers(queue.take(at(0), 2))).toEqual([1, 2])
})

test('20,000 rows may wait; more are dropped, and reported once', () => {
  const queue = queueOf(batch(1, 19_999), batch(20_000, 20_000), batch(20_001, 20_001))

  const taken = queue.take(at(0), 30_000)

  expect(taken.rows).toHaveLength(20_000)
  expect(taken.isGap).toBe(true)
  expect(queue.take(at(20_000), 1).isGap).toBe(false)
})

test('taken rows make room again', () => {
  const queue = queueOf(batch(1, 20_000))
  queue.take(at(0), 30_000)
  queue.push(batch(20_001, 40_000))

  expect(queue.take(at(20_000), 30_000)).toEqual({ rows: rows(20_001, 40_000), isGap: false })
})

test('clear() forgets waiting and dropped rows, and their number', () => {
  const queue = queueOf(batch(1, 20_000), batch(20_001, 20_001))

  queue.clear()

  expect(queue.take(at(0), 10)).toEqual({ rows: [], isGap: false })
  queue.push(batch(1, 20_000))
  expect(queue.take(at(0), 30_000).isGap).toBe(false)
})

/** Spaces after the text make it as long as asked. */
function message(value: unknown, bytes = 0) {
  const data = Buffer.from(JSON.stringify(value).padEnd(bytes))
  return { data, json: <T>() => JSON.parse(data.toString()) as T }
}

const deleted = (count: number) => ({
  incarnation: INCARNATION,
  rows: rows(1, count).map(({ n, body }) => ({ n, body: { ...body, serverId: OTHER } })),
})

test('a batch of 1,000 rows is read, and one more row refuses it', () => {
  expect(readBatch(message(deleted(1_000))).rows).toHaveLength(1_000)
  expect(() => readBatch(message(deleted(1_001)))).toThrow('1001 rows')
})

test('a batch twice as long as cells publish is read, and one more byte refuses it', () => {
  const most = 2 * PAGE_MAX_BYTES

  expect(readBatch(message(deleted(1), most)).rows).toHaveLength(1)
  expect(() => readBatch(message(deleted(1), most + 1))).toThrow(`${most + 1} bytes`)
})
