import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { createLogger } from './log.ts'
import { RunningReconciler } from './reconciler.ts'

test('a failure that repeats is told at once and then twice a minute, and its end once', async () => {
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
      running.nudge()
      await expect.poll(() => running.status().rounds).toBeGreaterThan(before)
    }
  }
  const told = () => lines.map(({ msg, repeats }) => [msg, repeats])

  await afterRounds(10)
  expect(told()).toEqual([['reconciler round failed', 1]])
  now = 31_000
  await afterRounds(1)
  expect(told()[1]).toEqual(['reconciler round failed', expect.any(Number)])
  expect(Number(told()[1]?.[1])).toBeGreaterThan(8)
  isFailing = false
  await afterRounds(2)
  isFailing = true
  await afterRounds(2)

  await expect.poll(told).toEqual([
    ['reconciler round failed', 1],
    ['reconciler round failed', expect.any(Number)],
    ['reconciler goes on', undefined],
    ['reconciler round failed', 1],
  ])
})
