import { expect, test } from 'vitest'
import type { ImageSpec } from './driver.ts'
import { commonTraits, distinctTraits, refuseTraits } from './machine-traits.ts'
import { instanceSpec } from './testing/instance-spec.ts'

test('a host promises the traits that all of its machines have, and names each combination once', () => {
  const machines = [
    ['B', 'A'],
    ['A', 'C'],
    ['A', 'B'],
  ]

  expect(commonTraits(machines)).toEqual(['A'])
  expect(commonTraits([])).toEqual([])
  expect(distinctTraits(machines)).toEqual([
    ['A', 'B'],
    ['A', 'C'],
  ])
})

test('a machine without a required trait leaves the server to other machines and hosts', () => {
  const spec = instanceSpec({ properties: {} } as ImageSpec)
  const fast = { ...spec, flavor: { ...spec.flavor, extraSpecs: { 'trait:FAST': 'required' } } }

  expect(() => refuseTraits(fast, 'm1', ['FAST'])).not.toThrow()
  expect(() => refuseTraits(fast, 'm1', ['SLOW'])).toThrow(
    expect.objectContaining({ kind: 'no-capacity', message: 'Machine m1 lacks the trait FAST.' }),
  )
})
