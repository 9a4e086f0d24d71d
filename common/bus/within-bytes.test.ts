import { expect, test } from 'vitest'
import { withinBytes } from './within-bytes.ts'

test('a page ends where its bytes do, counted as they are sent', () => {
  const ascii = ['aaaa', 'bbbb', 'cccc']
  const umlauts = ['ääää', 'öööö', 'üüüü']

  expect(withinBytes(ascii, 14)).toEqual(['aaaa', 'bbbb'])
  expect(withinBytes(umlauts, 14)).toEqual(['ääää'])
  expect(withinBytes(ascii)).toEqual(ascii)
})

test('a page has at least one item, however large it is', () => {
  expect(withinBytes(['x'.repeat(100), 'y'], 10)).toEqual(['x'.repeat(100)])
  expect(withinBytes([], 10)).toEqual([])
})
