import { expect, test } from 'vitest'
import { untilTick } from './clock.ts'

const at = (now: number) => ({ elapsed: () => now })

test.each([
  { ms: 1_000, now: 10_000, end: 11_000 },
  { ms: 1_000, now: 10_030, end: 11_000 },
  { ms: 1_000, now: 9_999, end: 11_000 },
  { ms: 1_500, now: 10_030, end: 11_500 },
  { ms: 10_000, now: 10_480, end: 20_000 },
  { ms: 200, now: 10_020, end: 10_200 },
  { ms: 50, now: 10_020, end: 10_070 },
])('a pause of $ms ms from $now ends at $end, with others', ({ ms, now, end }) => {
  expect(now + untilTick(at(now), ms)).toBe(end)
})
