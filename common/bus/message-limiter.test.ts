import { expect, test } from 'vitest'
import { createLogger } from '../log.ts'
import { MessageLimiter } from './message-limiter.ts'

test('messages of a peer above its limit are dropped, those of others are not, and the log has one line a minute', () => {
  let now = 0
  const lines: Record<string, unknown>[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const clock = { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() }
  const peers = new MessageLimiter(clock, createLogger('test', 'info', to), 2)

  expect([1, 2, 3, 4].map(() => peers.admits('loud'))).toEqual([true, true, false, false])
  expect(peers.admits('quiet')).toBe(true)
  now = 1_000
  expect(peers.admits('loud')).toBe(true)
  for (let i = 0; i < 1_000; i += 1) peers.logDropped('bad', { error: 'not JSON' })
  now = 61_000
  peers.logDropped('bad', { error: 'not JSON' })

  expect(lines.map(({ peer, unlogged, error }) => ({ peer, unlogged, error }))).toEqual([
    { peer: 'loud', unlogged: 0, error: undefined },
    { peer: 'bad', unlogged: 0, error: 'not JSON' },
    { peer: 'bad', unlogged: 999, error: 'not JSON' },
  ])
})

test('a bounded number of peers is remembered: those with the oldest messages are forgotten first', () => {
  const clock = { now: () => 0, elapsed: () => 0, sleep: () => Promise.resolve() }
  const peers = new MessageLimiter(clock, createLogger('test', 'error'), 1)
  const others = Array.from({ length: 9_999 }, (_, n) => `peer ${n}`)
  for (const peer of ['first', 'second', ...others]) peers.admits(peer)

  expect(peers.admits('second')).toBe(false)
  expect(peers.admits('first')).toBe(true)
})

test('messages of a peer above its limit of bytes are dropped for the rest of the second', () => {
  let now = 0
  const clock = { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() }
  const peers = new MessageLimiter(clock, createLogger('test', 'error'), 100, 10)

  expect([6, 4, 1].map((bytes) => peers.admits('long', bytes))).toEqual([true, true, false])
  expect(peers.admits('other', 10)).toBe(true)
  now = 1_000
  expect(peers.admits('long', 10)).toBe(true)
})
