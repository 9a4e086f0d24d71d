import { beforeEach, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { type HostReader, readHostContent } from './host-content.ts'

// Goal: a content is read from its host whole and in order, piece by piece, and a host that is away for moments is waited for.

const SIZE = 3 * MOVE_BYTES_MAX + 5
const content = Buffer.from(Array.from({ length: 4_096 }, (_, n) => n % 251))
const all = Buffer.alloc(SIZE, content)
const kept = { imageId: newId<string>(), hostId: newId<string>(), sizeBytes: SIZE }
const cell = { id: newId<CellId>(), name: 'north' } as Cell
let now: number
let asked: { offset: number; maxBytes: number }[]
let inFlight: number
let mostInFlight: number
/** What the host does with a request. */
let answer: (offset: number, maxBytes: number) => Promise<Buffer>

beforeEach(() => {
  now = 0
  asked = []
  inFlight = 0
  mostInFlight = 0
  answer = async (offset, maxBytes) => all.subarray(offset, offset + maxBytes)
})

const clock: Clock = {
  ...systemClock,
  elapsed: () => now,
  sleep: async (ms) => {
    now += ms
  },
}

const reader = {
  clock,
  work: {},
  askHost: async (_cell: unknown, _host: unknown, _name: unknown, ask: never) => {
    const { offset, maxBytes } = ask as { offset: number; maxBytes: number }
    asked.push({ offset, maxBytes })
    inFlight += 1
    mostInFlight = Math.max(mostInFlight, inFlight)
    try {
      return { bytes: (await answer(offset, maxBytes)).toString('base64') }
    } finally {
      inFlight -= 1
    }
  },
} as unknown as HostReader

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks = []
  for await (const piece of pieces) chunks.push(piece)
  return Buffer.concat(chunks)
}

const read = (first = 0, last = SIZE - 1) =>
  bytesOf(readHostContent(reader, cell, kept, { first, last }))

test('a content is the pieces that its host has, in order, of which a few are asked for at a time', async () => {
  // Later pieces are quicker.
  answer = async (offset, maxBytes) => {
    for (let n = 0; n < 4 - offset / MOVE_BYTES_MAX; n += 1) await Promise.resolve()
    return all.subarray(offset, offset + maxBytes)
  }

  expect((await read()).equals(all)).toBe(true)

  expect(asked.map(({ maxBytes }) => maxBytes)).toEqual([...Array(3).fill(MOVE_BYTES_MAX), 5])
  expect(mostInFlight).toBe(4)
})

test('a part of a content is these bytes alone', async () => {
  expect((await read(7, 12)).equals(all.subarray(7, 13))).toBe(true)
  expect(asked).toEqual([{ offset: 7, maxBytes: 6 }])
  expect(await bytesOf(readHostContent(reader, cell, { ...kept, sizeBytes: 0 }))).toHaveLength(0)
})

test('a host that does not answer is asked again for ten seconds', async () => {
  let tries = 0
  answer = async (offset, maxBytes) => {
    tries += 1
    if (tries < 5) throw new Failure('unavailable', 'away')
    return all.subarray(offset, offset + maxBytes)
  }
  expect((await read(0, 4)).equals(all.subarray(0, 5))).toBe(true)

  answer = () => Promise.reject(new Failure('unavailable', 'away'))
  await expect(read(0, 4)).rejects.toMatchObject({ kind: 'unavailable' })
  expect(now).toBeGreaterThan(10_000)
})

test.each([
  ['has it no more', () => Promise.reject(new Failure('not-found', 'gone'))],
  ['gives less than it was asked for', async () => Buffer.alloc(1)],
] as const)('a content is unavailable where its host %s', async (_, does) => {
  answer = does
  await expect(read(0, 4)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('a reader that goes away asks for no more', async () => {
  answer = async (_, maxBytes) => Buffer.alloc(maxBytes)
  for await (const _first of readHostContent(reader, cell, { ...kept, sizeBytes: SIZE * 9 })) break
  const before = asked.length
  await new Promise((resolve) => setImmediate(resolve))
  expect(asked).toHaveLength(before)
  expect(before).toBeLessThan(7)
})
