import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { Failure } from './errors.ts'
import { createLogger, type Logger } from './log.ts'
import { forEachRow, RunningReconciler } from './reconciler.ts'

const logged: unknown[] = []
const log = { error: (fields: unknown) => logged.push(fields) } as unknown as Logger

test('a row at which the work fails keeps no other from its turn', async () => {
  const done: number[] = []
  const { signal } = new AbortController()

  await forEachRow([1, 2, 3], { log, signal }, async (row) => {
    if (row === 2) throw new Error('broken')
    done.push(row)
  })

  expect(done).toEqual([1, 3])
  expect(logged).toEqual([expect.objectContaining({ row: 2, error: 'broken' })])
})

test('nothing more is tried where the database is away, or the process stops', async () => {
  const stop = new AbortController()
  const { signal } = stop
  const away = () => Promise.reject(new Failure('unavailable', 'away'))
  await expect(forEachRow([1, 2], { log, signal }, away)).rejects.toThrow('away')

  stop.abort(new Error('stops'))
  await expect(forEachRow([1], { log, signal }, async () => undefined)).rejects.toThrow('stops')
})

test('rows are worked on at the same time, no more than may be, and none begins after the database is away', async () => {
  const begun: number[] = []
  let most = 0
  let now = 0
  const wait = async (row: number) => {
    begun.push(row)
    now += 1
    most = Math.max(most, now)
    await new Promise((resolve) => setTimeout(resolve, 1))
    now -= 1
    if (row === 2) throw new Error('this one')
  }
  const rows = [1, 2, 3, 4, 5]
  expect(await forEachRow(rows, { log, parallel: 2 }, wait)).toBe(1)
  expect([most, begun]).toEqual([2, rows])

  begun.length = 0
  const away = async (row: number) => {
    await wait(row + 10)
    throw new Failure('unavailable', 'away')
  }
  await expect(forEachRow(rows, { log, parallel: 2 }, away)).rejects.toThrow('away')
  expect([now, begun]).toEqual([0, [11, 12]])
})

test('a failure that repeats is logged at once and then twice a minute, and its end once', async () => {
  let now = 0
  let rounds = 0
  let isFailing = true
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = createLogger('test', 'info', { write: (line) => lines.push(JSON.parse(line)) })
  const clock = { ...systemClock, elapsed: () => now }
  const round = () => {
    rounds += 1
    return isFailing ? Promise.reject(new Error('no database')) : Promise.resolve({})
  }
  await using running = new RunningReconciler({ name: 'r', everyMs: 60_000, round }, clock, log)
  const afterRounds = async (count: number) => {
    for (const until = rounds + count; rounds < until; ) {
      const before = running.status().rounds
      running.wake()
      await expect.poll(() => running.status().rounds).toBeGreaterThan(before)
    }
  }
  const logged = () => lines.map(({ msg, repeats }) => [msg, repeats])

  await afterRounds(10)
  expect(logged()).toEqual([['reconciler round failed', 1]])
  now = 31_000
  await afterRounds(1)
  expect(logged()[1]).toEqual(['reconciler round failed', expect.any(Number)])
  expect(Number(logged()[1]?.[1])).toBeGreaterThan(8)
  isFailing = false
  await afterRounds(2)
  isFailing = true
  await afterRounds(2)

  await expect.poll(logged).toEqual([
    ['reconciler round failed', 1],
    ['reconciler round failed', expect.any(Number)],
    ['reconciler works again', undefined],
    ['reconciler round failed', 1],
  ])
})
