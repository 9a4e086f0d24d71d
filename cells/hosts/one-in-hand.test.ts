import { expect, test } from 'vitest'
import { OneInHand } from './one-in-hand.ts'

test('one report of each host is processed at a time and the newest waits, without delaying other hosts', async () => {
  const begun: string[] = []
  const held = new Map<string, () => void>()
  const inHand = new OneInHand<string, string>(1, async (word) => {
    begun.push(word)
    await new Promise<void>((resolve) => held.set(word, resolve))
  })

  for (const word of ['a1', 'a2', 'a3']) inHand.take('a', word)
  inHand.take('b', 'b1')
  expect(begun).toEqual(['a1', 'b1'])

  held.get('a1')?.()
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'b1', 'a3'])

  inHand.take('a', 'a4')
  const ended = inHand.end()
  for (const word of ['a3', 'b1']) held.get(word)?.()
  await ended
  expect(begun).toEqual(['a1', 'b1', 'a3'])
})
