import { expect, test } from 'vitest'
import { RequestLimiter, RequestSlots } from './request-limiter.ts'

function limiter(perMinute: number) {
  let now = 1_000_000
  const clock = { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() }
  return { limit: new RequestLimiter(clock, perMinute), pass: (ms: number) => (now += ms) }
}

test('a project that has asked too much waits until it has one request again; others do not', () => {
  const { limit, pass } = limiter(3)

  expect(Array.from({ length: 4 }, () => limit.take('blue'))).toEqual([0, 0, 0, 20_000])
  expect(limit.take('red')).toBe(0)
  pass(15_000)
  expect(limit.take('blue')).toBe(5_000)
  pass(5_000)
  expect([limit.take('blue'), limit.take('blue')]).toEqual([0, 20_000])
})

test('nothing is saved up beyond a minute', () => {
  const { limit, pass } = limiter(2)
  limit.take('blue')
  pass(600_000)

  expect(Array.from({ length: 3 }, () => limit.take('blue'))).toEqual([0, 0, 30_000])
})

test('who asks is remembered in a bounded number: the one that has asked least lately is forgotten first', () => {
  const { limit } = limiter(1)
  limit.take('blue')
  limit.take('red')
  for (let n = 0; n < 9_999; n += 1) limit.take(`asker ${n}`)
  expect(limit.take('red')).toBe(60_000)

  expect(limit.take('blue')).toBe(0)
})

test('as many requests as there are slots are worked on, and each gives its slot back', () => {
  const slots = new RequestSlots(2)
  const [first, second] = [slots.take(), slots.take()]

  expect(() => slots.take()).toThrow('already handles 2 requests')
  first[Symbol.dispose]()
  const third = slots.take()
  expect(() => slots.take()).toThrow('already handles 2 requests')
  for (const slot of [second, third]) slot[Symbol.dispose]()
  expect(() => slots.take()).not.toThrow()
})
