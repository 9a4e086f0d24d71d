import { expect, test } from 'vitest'
import { noteChange, noteKey, tracked } from './repeatable.ts'

// Goal: a request is done again at another gateway only where that does nothing twice.

test.each([
  ['GET', [noteChange], true],
  ['PUT', [noteChange], true],
  ['POST', [], true],
  ['POST', [noteChange], false],
  ['PATCH', [noteChange], false],
  ['DELETE', [noteChange], false],
  ['POST', [noteKey, noteChange], true],
  ['DELETE', [noteKey, noteChange], true],
] as const)('%s after %j may be repeated: %s', async (method, steps, expected) => {
  const mayRepeat = await tracked(method, async (may) => {
    for (const step of steps) await Promise.resolve().then(step)
    return may()
  })

  expect(mayRepeat).toBe(expected)
})

test('what one request changes is none of another', async () => {
  const changing = tracked('POST', async (mayRepeat) => {
    noteChange()
    await Promise.resolve()
    return mayRepeat()
  })
  const waiting = tracked('POST', async (mayRepeat) => {
    await Promise.resolve()
    return mayRepeat()
  })

  expect(await Promise.all([changing, waiting])).toEqual([false, true])
})
