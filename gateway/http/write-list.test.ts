import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { longListOf, writeList } from './write-list.ts'

const body = { links: [{ href: 'http://x?a="servers":[]' }] }
const entries = Array.from({ length: 10 }, (_, id) => ({ id, name: `"${id}" ]} ü` }))
const sliced = (size: number) =>
  Array.from({ length: Math.ceil(entries.length / size) }, (_, index) => () => {
    return entries.slice(index * size, (index + 1) * size)
  })
const serialize = (value: unknown) => JSON.stringify(value)

test.each([1, 3, 10, 20])('slices of %d are written as all at once', async (size) => {
  const written = await writeList(body, { name: 'servers', slices: sliced(size) }, serialize)

  const text = typeof written === 'string' ? written : Buffer.from(written).toString()
  expect(text).toBe(serialize({ ...body, servers: entries }))
})

test('an empty list is written as such', async () => {
  expect(await writeList(body, { name: 'servers', slices: [] }, serialize)).toBe(
    serialize({ ...body, servers: [] }),
  )
})

test('each slice is made and written in a turn of the event loop of its own', async () => {
  let turns = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      await setImmediate()
      turns += 1
    }
  })()
  const madeAt: number[] = []
  const slices = sliced(2).map((slice) => () => {
    madeAt.push(turns)
    return slice()
  })

  await writeList(body, { name: 'servers', slices }, serialize)
  isOver = true
  await counting

  expect(new Set(madeAt).size).toBe(slices.length)
})

test('a long list without a limit is cut, with any fields beside it', async () => {
  const many = Array.from({ length: 300 }, (_, id) => ({ id }))
  const page = { next: '7', events: many, schema: { events: 'x' } }

  const list = longListOf(page)
  const written = await writeList(page, list!, serialize)

  expect(list?.slices).toHaveLength(3)
  expect(Buffer.from(written as Uint8Array).toString()).toBe(serialize(page))
  expect(longListOf({ events: many.slice(0, 125) })).toBeUndefined()
  expect(longListOf(many)).toBeUndefined()
  expect(longListOf(undefined)).toBeUndefined()
})

test('a body that is written otherwise without entries, or without the list, is written in one go', async () => {
  const many = Array.from({ length: 300 }, (_, id) => ({ id }))
  const inner = { inner: { events: [] }, events: many }
  const pruned = ({ next }: { readonly next?: string }) => JSON.stringify({ next })

  expect(await writeList(inner, longListOf(inner)!, serialize)).toBe(serialize(inner))
  const page = { next: '7', events: many }
  expect(await writeList(page, longListOf(page)!, (body) => pruned(body as object))).toBe(
    '{"next":"7"}',
  )
})
