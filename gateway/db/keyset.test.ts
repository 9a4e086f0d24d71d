import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { pageInSlices, type Slice } from './keyset.ts'

const ALL = Array.from({ length: 400 }, (_, place) => ({ id: String(place) }))

/** What a database answers that has these rows, and refuses a marker that it does not have. */
function reader(rows: readonly { readonly id: string }[], asked: Slice[]) {
  return ({ limit, marker }: Slice) => {
    asked.push({ limit, marker })
    const before = rows.findIndex(({ id }) => id === marker)
    if (marker !== undefined && before === -1) throw new Failure('invalid', 'No such marker')
    return Promise.resolve(rows.slice(before + 1, before + 1 + limit))
  }
}

test.each([1, 125, 126, 250, 399, 400, 1_000])('a page of %d is read in slices', async (limit) => {
  const asked: Slice[] = []

  const page = await pageInSlices({ limit, marker: '9' }, reader(ALL, asked))

  expect(page).toEqual(ALL.slice(10, 10 + limit))
  expect(Math.max(...asked.map((slice) => slice.limit))).toBeLessThanOrEqual(125)
})

test('a page whose slice ends with objects deleted in between has all others', async () => {
  const left = ALL.filter(({ id }) => id !== '124')
  const asked: Slice[] = []
  const read = (slice: Slice) => reader(asked.length === 0 ? ALL : left, asked)(slice)

  expect(
    await pageInSlices({ limit: 300, marker: undefined }, async (slice) => read(slice)),
  ).toEqual(left.slice(0, 300))
  expect(asked.at(-1)).toEqual({ limit: 300, marker: undefined })
})

test('a marker that is not there is refused', async () => {
  const asked: Slice[] = []
  const read = async (slice: Slice) => reader(ALL, asked)(slice)

  await expect(pageInSlices({ limit: 10, marker: 'x' }, read)).rejects.toThrow('No such marker')
  expect(asked).toHaveLength(1)
})
