import { expect, test } from 'vitest'
import { byteRange } from './byte-range.ts'

test.each([
  ['bytes=0-4', 0, 4],
  ['bytes=5-', 5, 9],
  ['bytes=5-100', 5, 9],
  ['bytes=-3', 7, 9],
  ['bytes=-100', 0, 9],
] as const)('byteRange() of %s in ten bytes', (header, first, last) => {
  expect(byteRange(header, 10)).toEqual({ first, last })
})

test.each([
  'bytes=10-',
  'bytes=4-2',
  'bytes=-',
  'bytes=-0',
  'bytes=0-1,4-5',
  'lines=0-1',
  'bytes=x-1',
])('byteRange() refuses %s', (header) => {
  expect(() => byteRange(header, 10)).toThrow('is not within')
})

test('byteRange() is absent without a header', () => {
  expect(byteRange(undefined, 10)).toBeUndefined()
})
