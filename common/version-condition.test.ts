import { expect, test } from 'vitest'
import { meetsVersions } from './version-condition.ts'

/** 7.2.0 */
const VERSION = 7_002_000

test.each([
  ['>=7.2', true],
  ['>=7.2.1', false],
  ['>7.1.999', true],
  ['>7.2', false],
  ['<=7.2', true],
  ['<7.2', false],
  ['<7.2.1', true],
  ['==7.2', true],
  ['==7', false],
  ['!=7.2.0', false],
  ['!=7', true],
  ['>= 6.0, < 8', true],
  ['>= 6.0,<7', false],
  ['>8,>=6', false],
])('version 7.2.0 and the condition "%s": %s', (conditions, expected) => {
  expect(meetsVersions(VERSION, conditions)).toBe(expected)
})

test('text that is no list of conditions has no answer', () => {
  for (const text of ['', '7.2', '=7', '>=7.2.0.1', '>=7,', '~7', '>=x'])
    expect([text, meetsVersions(VERSION, text)]).toEqual([text, undefined])
})
