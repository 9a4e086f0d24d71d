import { beforeEach, expect, test } from 'vitest'
import { REVOCATIONS_STALE_MAX_MS, TokenCache } from './token-cache.ts'
import type { TokenView } from './token-view.ts'

let now: number
let cache: TokenCache

beforeEach(() => {
  now = 1_000_000
  cache = new TokenCache({ now: () => now, elapsed: () => now, sleep: () => Promise.resolve() })
  cache.recordRead(now)
})

function view(id: string, livesMs = 60_000): TokenView {
  return { record: { id, expiresAt: new Date(now + livesMs) } } as TokenView
}

test('a kept token is given out until it expires', () => {
  cache.put(view('a', 100), cache.mark)
  expect(cache.get('a')).toBeDefined()

  now += 100
  expect(cache.get('a')).toBeUndefined()
})

test('no token is given out while revocations cannot be read', () => {
  cache.put(view('a'), cache.mark)

  now += REVOCATIONS_STALE_MAX_MS + 1
  expect(cache.get('a')).toBeUndefined()

  cache.recordRead(now)
  expect(cache.get('a')).toBeDefined()
})

test('a dropped token is gone, and others stay', () => {
  for (const id of ['a', 'b']) cache.put(view(id), cache.mark)

  cache.drop('a')

  expect([cache.get('a'), cache.get('b')?.record.id]).toEqual([undefined, 'b'])
})

test('the reader of revocations wakes when a token is asked for again', async () => {
  let isAsked = false
  const asked = cache.nextRequest(new AbortController().signal).then(() => {
    isAsked = true
  })
  await Promise.resolve()
  expect(isAsked).toBe(false)

  cache.get('a')

  await asked
  expect(isAsked).toBe(true)
})

test('a token read before a revocation is not kept after it', () => {
  const { mark } = cache
  cache.drop('b')

  cache.put(view('a'), mark)

  expect(cache.get('a')).toBeUndefined()
})
