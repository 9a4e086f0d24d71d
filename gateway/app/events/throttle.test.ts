import { expect, test } from 'vitest'
import type { Clock } from '#common/clock.ts'
import { throttle } from './throttle.ts'

test('a few calls are passed on at once, many at their rate, and the last is never dropped', async () => {
  let now = 1_000
  const sleeping: { readonly until: number; readonly wake: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    elapsed: () => now,
    sleep: (ms) => new Promise((wake) => void sleeping.push({ until: now + ms, wake })),
  }
  const passed: number[] = []
  const call = throttle(() => passed.push(now), { clock, everyMs: 200, burst: 3 })
  const until = async (end: number) => {
    for (; now < end; now += 10) {
      call()
      for (const { wake } of sleeping.splice(0).filter(isLate)) wake()
      await Promise.resolve()
    }
  }
  const isLate = (each: { readonly until: number }) =>
    each.until <= now || !sleeping.push(each as never)

  await until(2_000)

  expect(passed.slice(0, 3)).toEqual([1_000, 1_010, 1_020])
  expect(passed.length).toBeLessThanOrEqual(3 + 1_000 / 200)
  const calledAt = now - 10
  await until(now + 10)
  now += 400
  for (const { wake } of sleeping) wake()
  await Promise.resolve()
  expect(passed.at(-1)).toBeGreaterThan(calledAt)
})
