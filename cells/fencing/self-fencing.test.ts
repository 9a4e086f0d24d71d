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
  return { fencing, wait }
}

test('a host is fenced once it was left alone for its time and the margin', () => {
  const { fencing, wait } = fencingOf(30_000)

  fencing.observe(inTouch)
  expect(fencing.step(id)).toBe('leave-alone')
  fencing.observe(alone)
  wait(60_000)
  fencing.observe(alone)
  expect(fencing.step(id)).toBe('wait')
  wait(1)
  expect(fencing.step(id)).toBe('fenced')
})

test('a host that was in touch again begins from the start', () => {
  const { fencing, wait } = fencingOf(30_000)

  fencing.observe(alone)
  wait(59_000)
  fencing.observe(inTouch)
  expect(fencing.step(id)).toBe('leave-alone')
  fencing.observe(alone)
  wait(59_000)

  expect(fencing.step(id)).toBe('wait')
})
