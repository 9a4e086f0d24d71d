import { expect, test } from 'vitest'
import { LoginThrottle } from './login-throttle.ts'

const LOCKOUT = { failuresMax: 10, windowMs: 60_000 }

test('an account is refused after ten failures, for the rest of the minute, alone', () => {
  let now = 0
  const throttle = new LoginThrottle(
    { now: () => now, elapsed: () => now, sleep: () => Promise.resolve() },
    LOCKOUT,
  )

  for (let failure = 0; failure < 9; failure += 1) throttle.failed('a')
  expect(throttle.isExhausted('a')).toBe(false)
  throttle.failed('a')
  expect([throttle.isExhausted('a'), throttle.isExhausted('b')]).toEqual([true, false])

  now = 60_000
  expect(throttle.isExhausted('a')).toBe(false)
})

test('a success forgives the failures before it', () => {
  const throttle = new LoginThrottle(
    { now: () => 0, elapsed: () => 0, sleep: () => Promise.resolve() },
    LOCKOUT,
  )
  for (let failure = 0; failure < 10; failure += 1) throttle.failed('a')

  throttle.succeeded('a')

  expect(throttle.isExhausted('a')).toBe(false)
})
