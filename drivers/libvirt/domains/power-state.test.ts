import { describe, expect, test } from 'vitest'
import { endedWithHost, hasIoError, powerStateAfter, powerStateOf } from './power-state.ts'

describe('powerStateOf()', () => {
  test('every libvirt state has a power state, and one of the future has none', () => {
    const states = [0, 1, 2, 3, 4, 5, 6, 7, 99].map((state) => ({ state, reason: 1 }))

    expect(states.map(powerStateOf)).toEqual([
      'nostate',
      'running',
      'running',
      'paused',
      'running',
      'shutdown',
      'crashed',
      'suspended',
      'nostate',
    ])
  })
})

test('a domain that is off because its QEMU ended by itself has crashed, and no other has', () => {
  const reasons = [0, 1, 2, 3, 4, 5, 6, 7].map((reason) => powerStateOf({ state: 5, reason }))

  expect(reasons.map((state, reason) => (state === 'crashed' ? reason : -1))).toEqual([
    ...[-1, -1, -1, 3, -1, -1, -1, -1],
  ])
})

describe('endedWithHost()', () => {
  test.each([
    ['off for no known reason', 5, 0, true],
    ['shut down', 5, 1, false],
    ['cut off', 5, 2, false],
    ['crashed', 5, 3, false],
    ['running for no known reason', 1, 0, false],
  ])('a domain that is %s: %i, %i', (_what, state, reason, expected) => {
    expect(endedWithHost({ state, reason })).toBe(expected)
  })
})

test('a domain has met an I/O error if that is why it is paused', () => {
  const states = [
    { state: 3, reason: 5 },
    { state: 3, reason: 1 },
    { state: 1, reason: 5 },
  ]
  expect(states.map(hasIoError)).toEqual([true, false, false])
})

describe('powerStateAfter()', () => {
  test.each([
    ['defined', 0, 0, undefined],
    ['started', 2, 0, 'running'],
    ['stopped by the guest', 5, 0, 'shutdown'],
    ['stopped by a crash', 5, 2, 'crashed'],
    ['stopped because it runs elsewhere', 5, 3, undefined],
    ['stopped because its QEMU ended', 5, 5, 'crashed'],
    ['frozen by its user', 3, 0, 'paused'],
    ['frozen for the end of its move', 3, 1, undefined],
    ['shutting down', 6, 0, undefined],
    ['one of the future', 42, 0, undefined],
  ])('%s', (_what, event, detail, state) => {
    expect(powerStateAfter(event, detail)).toBe(state)
  })
})
