import { expect, test } from 'vitest'
import { negotiate } from './negotiate.ts'

const answer = (newest: string, oldest: string) =>
  JSON.stringify({ ApiVersion: newest, MinAPIVersion: oldest })

test.each([
  ['an older engine decides', '1.41', '1.12', '1.41'],
  ['versions are numbers', '1.100', '1.44', '1.51'],
])('negotiate(): %s', (_what, newest, oldest, agreed) => {
  expect(negotiate(answer(newest, oldest))).toBe(agreed)
})

test.each([
  ['too old', answer('1.9', '1.9')],
  ['too new', answer('1.70', '1.60')],
])('negotiate() refuses an engine that is %s', (_what, text) => {
  expect(() => negotiate(text)).toThrow(expect.objectContaining({ kind: 'unsupported' }))
})

test('negotiate() throws `unavailable` for an answer that no Docker engine gives', () => {
  expect(() => negotiate('<html>')).toThrow(expect.objectContaining({ kind: 'unavailable' }))
})
