import { expect, test } from 'vitest'
import type { Cell } from '../../../cell-client/cell.ts'
import { placeOf } from './server-place.ts'

const CELLS = [{ summary: { zones: ['north'] } }] as unknown as readonly Cell[]

const place = (availabilityZone: string, host: string | null = null) =>
  placeOf({ availabilityZone, host, hypervisorHostname: null }, CELLS, () => {})

test.each([
  ['north', null, { zone: 'north', host: null, isForced: false }],
  ['north', 'h1', { zone: 'north', host: 'h1', isForced: false }],
  // A forced host is used even if another zone stands before it.
  ['nova:h1', null, { zone: null, host: 'h1', isForced: true }],
  ['north:h1:node', null, { zone: null, host: 'h1', isForced: true }],
  ['nova::node', null, { zone: null, host: 'node', isForced: true }],
])('%s with the host %s is %j', (zone, host, expected) => {
  expect(place(zone, host)).toEqual(expected)
})

test('a zone alone must be one that a cell has', () => {
  expect(() => place('nova')).toThrow('not available')
})
