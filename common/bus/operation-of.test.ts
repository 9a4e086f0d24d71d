import { expect, test } from 'vitest'
import { operationOf } from './operation-of.ts'

// Goal: an operation is a label with a bound; ids in a subject never become one.

const ID = '0f5a1c9e-4d0e-4a3b-8e7c-1c2d3e4f5a6b'

test.each([
  [`cell.${ID}.v1.instance.build`, 'instance.build'],
  [`cell.${ID}.process.${ID}.v1.feed.read`, 'feed.read'],
  [`host.${ID}.${ID}.v1.spawn`, 'spawn'],
  [`gateway.v1.alive.${ID}`, 'other'],
  [`cell.${ID}`, 'other'],
])('%s is %s', (subject, operation) => {
  expect(operationOf(subject)).toBe(operation)
})
