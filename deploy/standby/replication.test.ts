import { expect, test } from 'vitest'
import { transactionsBetween } from './replication.ts'

test.each([
  ['1-1-270', '1-1-270', 0],
  ['1-1-270', '1-1-275', 5],
  ['', '1-1-3', 3],
  ['1-1-270,2-2-4', '2-2-9,1-1-271', 6],
  ['1-1-270', '1-1-200', 0],
  ['1-1-270', '', 0],
])('a copy at %j lacks of %j', (applied, received, missing) => {
  expect(transactionsBetween(applied, received)).toBe(missing)
})
