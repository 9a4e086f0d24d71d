import { expect, test } from 'vitest'
import { DelayEstimator } from './delay-estimator.ts'

const TOOK_MS = 2

/** A sender whose clock goes ahead of the receiver's by so much; says how late each message is taken to be. */
function sender(lateness: DelayEstimator, name: string, aheadMs: number) {
  return (at: number, tookMs = TOOK_MS) => lateness.of(name, at + aheadMs, at + tookMs)
}

test('clocks that differ by hours make no message late, and a message that was held up is', () => {
  const lateness = new DelayEstimator()
  const ahead = sender(lateness, 'ahead', 3_600_000)
  const behind = sender(lateness, 'behind', -3_600_000)

  for (const from of [ahead, behind]) {
    expect([from(0), from(1_000), from(2_000)]).toEqual([0, 0, 0])
    expect(from(3_000, 20_000)).toBe(19_998)
    expect(from(24_000)).toBe(0)
  }
})

test('a message that was delayed for long is late, even after a long silence', () => {
  const from = sender(new DelayEstimator(), 'one', 0)
  from(0)

  expect(from(1_000, 60_000)).toBe(59_998)
})

test('a clock that is set is believed again soon', () => {
  const lateness = new DelayEstimator()
  sender(lateness, 'one', 0)(0)
  const slow = sender(lateness, 'one', -60_000)

  expect(slow(1_000)).toBe(60_000)
  for (let at = 2_000; at <= 30_000; at += 1_000) slow(at)
  expect(slow(31_000)).toBe(0)
})
