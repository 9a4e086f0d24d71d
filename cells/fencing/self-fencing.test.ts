import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type HostId, newId } from '#common/ids.ts'
import { SelfFencing } from './self-fencing.ts'

// Goal: a host counts as fenced only when no process of the cell can have told it of contact for longer than it waits.

const id = newId<HostId>()
const alone = [{ id, isLeftAlone: true }]
const inTouch = [{ id, isLeftAlone: false }]

function fencingOf(afterMs: number) {
  let now = 1_000
  const fencing = new SelfFencing({ ...systemClock, elapsed: () => now }, afterMs)
  const wait = (ms: number) => {
    now += ms
  }
  /** As a process that looks every second, and sees the host left alone. */
  const waitSeeing = (ms: number) => {
    for (let waited = 0; waited < ms; waited += 1_000) {
      wait(1_000)
      fencing.observe(alone, 0)
    }
  }
  return { fencing, wait, waitSeeing }
}

test('a host is fenced once it was left alone for its time and the margin', () => {
  const { fencing, wait, waitSeeing } = fencingOf(30_000)

  fencing.observe(inTouch, 0)
  expect(fencing.step(id)).toBe('leave-alone')
  fencing.observe(alone, 0)
  waitSeeing(60_000)
  expect(fencing.step(id)).toBe('wait')
  wait(1)
  expect(fencing.step(id)).toBe('fenced')
})

test('a host that was in touch again begins from the start', () => {
  const { fencing, waitSeeing } = fencingOf(30_000)

  fencing.observe(alone, 0)
  waitSeeing(59_000)
  fencing.observe(inTouch, 0)
  expect(fencing.step(id)).toBe('leave-alone')
  fencing.observe(alone, 0)
  waitSeeing(59_000)

  expect(fencing.step(id)).toBe('wait')
})

test('a process that has not seen the host for a while begins from the start: it may have been in touch', () => {
  const { fencing, wait, waitSeeing } = fencingOf(30_000)

  fencing.observe(alone, 0)
  waitSeeing(40_000)
  wait(5_000)
  fencing.observe(alone, 0)
  waitSeeing(40_000)
  expect(fencing.step(id)).toBe('wait')

  waitSeeing(22_000)
  expect(fencing.step(id)).toBe('fenced')
})

test('no host is fenced by what was read long ago', () => {
  const { fencing, wait, waitSeeing } = fencingOf(30_000)

  fencing.observe(alone, 0)
  waitSeeing(59_000)
  wait(5_000)
  fencing.observe(alone, 5_000)

  expect(fencing.step(id)).toBe('wait')
})
