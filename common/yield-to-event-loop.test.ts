import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { yieldToEventLoop } from './yield-to-event-loop.ts'

test('of many who do long work in slices, one has each turn of the event loop, in order', async () => {
  let turns = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      await setImmediate()
      turns += 1
    }
  })()
  const slices: { readonly who: number; readonly at: number }[] = []
  const work = async (who: number) => {
    for (let slice = 0; slice < 3; slice += 1) {
      await yieldToEventLoop()
      slices.push({ who, at: turns })
    }
  }

  await Promise.all([work(1), work(2), work(3)])
  isOver = true
  await counting

  expect(slices.map(({ who }) => who)).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3])
  expect(new Set(slices.map(({ at }) => at)).size).toBe(slices.length)
})
