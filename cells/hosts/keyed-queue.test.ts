import { expect, test } from 'vitest'
import { KeyedQueue } from './keyed-queue.ts'

test('one report of each host is processed at a time and the newest waits, without delaying other hosts', async () => {
  const begun: string[] = []
  const held = new Map<string, () => void>()
  const queue = new KeyedQueue<string, string>(1, async (message) => {
    begun.push(message)
    await new Promise<void>((resolve) => held.set(message, resolve))
  })

  for (const message of ['a1', 'a2', 'a3']) queue.add('a', message)
  queue.add('b', 'b1')
  expect(begun).toEqual(['a1', 'b1'])

  held.get('a1')?.()
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'b1', 'a3'])

  queue.add('a', 'a4')
  const ended = queue.end()
  for (const message of ['a3', 'b1']) held.get(message)?.()
  await ended
  expect(begun).toEqual(['a1', 'b1', 'a3'])
})
