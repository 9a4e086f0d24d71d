import { expect, test } from 'vitest'
import { plainTime, zonedTime } from './time.ts'

test.each([
  '2026-11-21T07:30:00.000Z',
  '2026-11-21T23:59:59.999Z',
  '2026-11-22T00:00:00.001Z',
  '2024-02-29T12:05:09.070Z',
  '1969-12-31T23:59:59.500Z',
])('%s is written as the standard library writes it', (text) => {
  const at = new Date(text)

  expect(zonedTime(at)).toBe(`${text.slice(0, 19)}Z`)
  expect(plainTime(at)).toBe(`${text.slice(0, 23)}000`)
})
