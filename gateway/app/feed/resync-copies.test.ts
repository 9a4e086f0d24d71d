import { beforeEach, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import { type CopiedKind, resyncCopies } from './resync-copies.ts'

// Goal: a copy compares all that is known with all that the cell has, page by page, or changes nothing.

interface Row {
  readonly id: string
  readonly cellVersion: number
}

const COPY = { incarnation: 'now', isReplaced: false }
const cell = { id: newId<CellId>(), name: 'north' }

let known: Row[]
/** What the cell answers, page by page; the last page again and again. */
let pages: { readonly incarnation: string; readonly views: readonly string[]; isLast: boolean }[]
let asked: unknown[]
let applied: unknown[]
let missing: string[]

beforeEach(() => {
  known = []
  pages = []
  asked = []
  applied = []
  missing = []
})

const kind: CopiedKind<Row, string> = {
  known: async (cellId, after, max) => {
    asked.push(['known', cellId === cell.id, after])
    return known.filter(({ id }) => id > after).slice(0, max)
  },
  read: async (after) => {
    asked.push(['read', after])
    return pages.length > 1 ? pages.shift()! : pages[0]!
  },
  idOf: (view) => view,
  apply: async (view, copy) => void applied.push([view, copy]),
  missing: async ({ id }) => void missing.push(id),
}
const page = (views: readonly string[], isLast = false) => ({ incarnation: 'now', views, isLast })
const idAt = (index: number) => `row-${String(index).padStart(4, '0')}`
const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: idAt(index), cellVersion: 1 }))

test('what the cell has is applied page by page, after what is known has been read', async () => {
  known = rows(2)
  pages = [page(['a', 'b', 'c']), page(['d'], true)]

  await resyncCopies(cell, COPY, kind)

  expect(asked).toEqual([
    ['known', true, ''],
    ['read', null],
    ['read', 'c'],
  ])
  expect(applied).toEqual(['a', 'b', 'c', 'd'].map((view) => [view, COPY]))
  expect(missing).toEqual([idAt(0), idAt(1)])
})

test('all that is known is compared, however many pages it has', async () => {
  known = rows(1_000)
  pages = [page([idAt(0), idAt(499)], true)]

  await resyncCopies(cell, COPY, kind)

  expect(asked).toEqual([
    ['known', true, ''],
    ['known', true, idAt(499)],
    ['known', true, idAt(999)],
    ['read', null],
  ])
  expect(missing).toHaveLength(998)
  expect(missing).not.toContain(idAt(499))
})

test('one of which the cell has said nothing yet is not missed', async () => {
  known = [...rows(1), { id: 'begun', cellVersion: 0 }]
  pages = [page([], true)]

  await resyncCopies(cell, COPY, kind)

  expect(missing).toEqual([idAt(0)])
})

test('a cell that changes its database between two pages is compared later', async () => {
  known = rows(1)
  pages = [page(['a']), { ...page(['b'], true), incarnation: 'later' }]

  await expect(resyncCopies(cell, COPY, kind)).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'Cell north changed its database meanwhile.',
  })
  expect([applied, missing]).toEqual([[], []])
})

test('a cell whose pages never end is given up after a thousand', async () => {
  known = rows(1)
  pages = [page(['a'])]

  await expect(resyncCopies(cell, COPY, kind)).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'Cell north has more rows than a copy can have.',
  })
  expect(asked).toHaveLength(1_001)
  expect([applied, missing]).toEqual([[], []])
})

test('a cell that cannot answer is compared later, unless its release has none of them', async () => {
  const failing = (failure: Failure) => ({ ...kind, read: () => Promise.reject(failure) })
  const away = failing(new Failure('unavailable', 'Away.'))
  const old = failing(new Failure('unsupported', 'An old release.'))

  await expect(resyncCopies(cell, COPY, away)).rejects.toMatchObject({ message: 'Away.' })
  await resyncCopies(cell, COPY, old)

  expect(applied).toEqual([])
})
