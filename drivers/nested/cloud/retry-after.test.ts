import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

test.each([
  ['a rate limit', 429, '2', 2_000],
  ['a rate limit that does not say for how long', 429, undefined, 5_000],
  ['a rate limit of an old Nova', 413, '3', 3_000],
  ['something too large', 413, undefined, undefined],
  ['a quota of Cinder', 413, '0', undefined],
  ['a success', 200, '2', undefined],
])('retryAfterMs() of %s', (_what, status, value, waitMs) => {
  const headers = value === undefined ? {} : { 'retry-after': value }

  expect(retryAfterMs({ status, headers })).toBe(waitMs)
})
