import { expect, test } from 'vitest'
import { RepeatPauses } from './repeat-pauses.ts'

function pausesIn(pauses: RepeatPauses, limitMs: number): readonly number[] {
  const all = []
  let sum = 0
  for (let pause = pauses.first(); sum + pause < limitMs; pause = pauses.after(pause)) {
    all.push(Math.round(pause))
    sum += pause
  }
  return all
}

test('where answers come soon a question is repeated soon, and then less often', () => {
  const pauses = new RepeatPauses()
  for (let nth = 0; nth < 100; nth += 1) pauses.answered(20)

  expect(pausesIn(pauses, 5_000)).toEqual([300, 600, 1_000, 1_000, 1_000, 1_000])
})

test('where answers come late it is repeated once in the time that it waits', () => {
  const pauses = new RepeatPauses()
  for (let nth = 0; nth < 100; nth += 1) pauses.answered(3_000)

  expect(pausesIn(pauses, 10_000)).toEqual([5_000])
})

test('a few late answers change little', () => {
  const pauses = new RepeatPauses()
  for (let nth = 0; nth < 100; nth += 1) pauses.answered(20)
  pauses.answered(4_000)
  for (let nth = 0; nth < 32; nth += 1) pauses.answered(20)

  expect(pauses.first()).toBeLessThan(300 + 1)
})
