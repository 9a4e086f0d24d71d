import { expect, test } from 'vitest'
import { age } from './age.ts'
import { bar } from './bar.ts'
import { plain, styleFor } from './style.ts'
import { fieldsView, type Listing, listView, rendered } from './view.ts'

interface Thing {
  readonly name: string
  readonly size: number | null
  readonly isOld: boolean
}

const LISTING: Listing<Thing> = {
  plural: 'things',
  nameOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'SIZE', of: ({ size }) => size },
    { head: 'OLD', of: ({ isOld }) => isOld, isWide: true },
  ],
}
const THINGS: readonly Thing[] = [
  { name: 'one', size: 5, isOld: true },
  { name: 'fourteen', size: 1000, isOld: false },
]

test('a list is a table with numbers to the right; wide ones have every column', async () => {
  const view = listView(THINGS, LISTING)

  expect(await rendered(view, 'table', plain)).toBe(
    'NAME      SIZE\none          5\nfourteen  1000\n',
  )
  expect(await rendered(view, 'wide', plain)).toContain('fourteen  1000  no\n')
  expect(await rendered(view, 'name', plain)).toBe('one\nfourteen\n')
  expect(JSON.parse(await rendered(view, 'json', plain))).toEqual(THINGS)
  expect(await rendered(view, 'yaml', plain)).toContain('- name: one\n  size: 5\n')
})

test('an empty list is a sentence, and in JSON an empty array', async () => {
  expect(await rendered(listView([], LISTING), 'table', plain)).toBe('No things.\n')
  expect(await rendered(listView([], LISTING), 'json', plain)).toBe('[]\n')
})

test('one thing has a line for everything, and an object of JSON', async () => {
  const view = fieldsView({ name: 'one', size: null, isOld: true }, LISTING)

  expect(await rendered(view, 'table', plain)).toBe('NAME  one\nSIZE  -\nOLD   yes\n')
  expect(JSON.parse(await rendered(view, 'json', plain))).toMatchObject({ name: 'one' })
})

test('a name moves no cursor and sets no colour', async () => {
  const thing = { name: '\u001b[31mred\u001b[2J\r\nand\u0007', size: 1, isOld: true }

  expect(await rendered(fieldsView(thing, LISTING), 'table', plain)).toContain('NAME  red  and \n')
})

test('colours are for terminals whose owner wants them', () => {
  const terminal = { isTTY: true, write: () => true }

  expect(styleFor(terminal, {})('error', 'x')).toBe('\u001b[31mx\u001b[39m')
  expect(styleFor(terminal, { NO_COLOR: '1' })('error', 'x')).toBe('x')
  expect(styleFor({ write: () => true }, {})('error', 'x')).toBe('x')
})

test('ages are in the largest unit that fits', () => {
  const now = Date.parse('2026-01-10T00:00:00Z')

  expect(age('2026-01-09T23:59:30Z', now)).toBe('30s')
  expect(age('2026-01-09T21:00:00Z', now)).toBe('3h')
  expect(age('2025-12-31T00:00:00Z', now)).toBe('10d')
  expect(age('2026-01-10T00:00:09Z', now)).toBe('0s')
  expect(age(null, now)).toBeNull()
})

test('a bar shows a share, at most the whole', () => {
  expect(bar(5, 10)).toBe('█████░░░░░  50%')
  expect(bar(20, 10)).toBe('██████████ 100%')
  expect(bar(0, 0)).toBe('░░░░░░░░░░   0%')
})
