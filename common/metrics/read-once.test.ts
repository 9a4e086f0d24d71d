import { expect, test } from 'vitest'
import { readOnce } from './read-once.ts'

// Goal: however many scrapes come, the database is asked rarely, and the more rarely the longer it takes.

/** A clock that a test sets. */
function world(tookMs: number) {
  let now = 0
  let reads = 0
  const read = readOnce({ elapsed: () => now }, async () => {
    reads += 1
    const nth = reads
    await Promise.resolve()
    now += tookMs
    return nth
  })
  return { read, pass: (ms: number) => (now += ms), reads: () => reads }
}

test('scrapes at once share a reading, and later ones have it for five seconds', async () => {
  const { read, pass } = world(1)
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1])
  pass(4_900)
  expect(await read()).toBe(1)
  pass(200)
  expect(await read()).toBe(2)
})

test('a reading that takes long is kept for fifty times as long', async () => {
  const { read, pass } = world(400)
  await read()
  pass(19_900)
  expect(await read()).toBe(1)
  pass(200)
  expect(await read()).toBe(2)
})

test('a reading that fails is not kept', async () => {
  let isWell = false
  const read = readOnce({ elapsed: () => 0 }, () =>
    isWell ? Promise.resolve('figures') : Promise.reject(new Error('away')),
  )
  await expect(read()).rejects.toThrow('away')
  isWell = true
  expect(await read()).toBe('figures')
})
