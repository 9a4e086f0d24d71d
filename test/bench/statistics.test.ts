import { expect, test } from 'vitest'
import { median, pairedRatio, percentile } from './statistics.ts'

test.each([
  [0.5, 20],
  [0.99, 40],
  [0.25, 10],
  [0, 10],
  [1, 40],
])('percentile() at %d of four values is one of them: %d', (part, value) => {
  expect(percentile([40, 10, 30, 20], part)).toBe(value)
})

test('percentile() of nothing is not a number', () => {
  expect(percentile([], 0.5)).toBeNaN()
})

test('median() leaves the order of its values alone', () => {
  const values = [3, 1, 2]

  expect(median(values)).toBe(2)
  expect(values).toEqual([3, 1, 2])
})

test('pairedRatio() compares neighbours, so that a disturbed round does not count', () => {
  expect(pairedRatio([80, 8, 60], [100, 10, 600])).toBe(0.8)
})

test('pairedRatio() ignores a run without its neighbour', () => {
  expect(pairedRatio([50, 1, 7], [100])).toBe(0.5)
})
