import { expect, test } from 'vitest'
import { LoginThrottle } from './login-throttle.ts'

const [A, B] = [
  { peer: 'here', account: 'a' },
  { peer: 'here', account: 'b' },
]
const LOCKOUT = { failuresMax: 10, windowMs: 60_000 }

test('an account is refused after ten failures, for the rest of the minute, alone', () => {
  let now = 0
  const throttle = new LoginThrottle(
    { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() },
    LOCKOUT,
  )

  for (let failure = 0; failure < 9; failure += 1) throttle.failed(A)
  expect(throttle.isExhausted(A)).toBe(false)
  throttle.failed(A)
  expect([throttle.isExhausted(A), throttle.isExhausted(B)]).toEqual([true, false])

  now = 60_000
  expect(throttle.isExhausted(A)).toBe(false)
})

test('a success forgives the failures before it', () => {
  const throttle = new LoginThrottle(
    { now: () => 0, elapsed: () => 0, sleep: () => Promise.resolve() },
    LOCKOUT,
  )
  for (let failure = 0; failure < 10; failure += 1) throttle.failed(A)

  throttle.succeeded(A)

  expect(throttle.isExhausted(A)).toBe(false)
})

test('failures of one peer do not lock out another', () => {
  const throttle = new LoginThrottle(
    { now: () => 0, elapsed: () => 0, sleep: () => Promise.resolve() },
    LOCKOUT,
  )
  const elsewhere = { peer: 'elsewhere', account: 'a' }
  for (let failure = 0; failure < 10; failure += 1) throttle.failed(elsewhere)

  expect([throttle.isExhausted(elsewhere), throttle.isExhausted(A)]).toEqual([true, false])
})
