import { expect, test } from 'vitest'
import { errorChain } from './errors.ts'
import { waitFor } from './wait-for.ts'

test('waitFor() returns the first truthy value', async () => {
  let calls = 0
  const value = await waitFor('three calls', () => (++calls === 3 ? 'third' : null), 5_000)

  expect(value).toBe('third')
})

test('waitFor() names the awaited condition and the last value', async () => {
  await expect(waitFor('ACTIVE', () => '', 30)).rejects.toThrow(
    'Waited 30 ms for ACTIVE; last seen: ""',
  )
})

test('waitFor() keeps a throwing probe as the cause', async () => {
  const error = await waitFor(
    'an answer',
    () => {
      throw new Error('refused')
    },
    30,
  ).catch((e: unknown) => e)

  expect(errorChain(error)).toBe('Waited 30 ms for an answer; last seen: an error: refused')
})

test('waitFor() ends although a probe never returns', async () => {
  await expect(waitFor('a reply', () => new Promise(() => {}), 30)).rejects.toThrow(
    'a probe that did not return',
  )
})
