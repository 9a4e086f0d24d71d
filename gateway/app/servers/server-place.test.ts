import { expect, test } from 'vitest'
import type { Cell } from '../../cells/cell.ts'
import { placeOf } from './server-place.ts'

const CELLS = [{ summary: { zones: ['north'] } }] as unknown as readonly Cell[]

const place = (availabilityZone: string, host: string | null = null) =>
  placeOf({ availabilityZone, host, hypervisorHostname: null }, CELLS, () => {})

test.each([
  ['north', null, { zone: 'north', host: null }],
  ['north', 'h1', { zone: 'north', host: 'h1' }],
  // Whoever forces a host gets it, whatever zone stands before it.
  ['nova:h1', null, { zone: null, host: 'h1' }],
  ['north:h1:node', null, { zone: null, host: 'h1' }],
  ['nova::node', null, { zone: null, host: 'node' }],
])('%s with the host %s is %j', (zone, host, expected) => {
  expect(place(zone, host)).toEqual(expected)
})

test('a zone alone must be one that a cell has', () => {
  expect(() => place('nova')).toThrow('not available')
})
