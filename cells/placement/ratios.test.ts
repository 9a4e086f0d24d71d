import { expect, test } from 'vitest'
import { ratiosOf } from './ratios.ts'

const CELL = { vcpus: 16, memoryMb: 1.5, diskGb: 1 }
const of = (...metadata: readonly Record<string, string>[]) => {
  const aggregates = metadata.map((each, nth) => ({ id: nth + 1, metadata: each }))
  return ratiosOf({ inventory: null, aggregates }, CELL)
}

test('the smallest ratio of the aggregates takes precedence over that of the cell', () => {
  expect(of()).toEqual(CELL)
  expect(of({ cpu_allocation_ratio: '4' }, { cpu_allocation_ratio: ' 2.5 ' })).toEqual({
    ...CELL,
    vcpus: 2.5,
  })
  expect(of({ cpu_allocation_ratio: '16.25' })).toEqual({ ...CELL, vcpus: 16.25 })
  expect(of({ ram_allocation_ratio: '3', disk_allocation_ratio: '2' })).toEqual({
    ...CELL,
    memoryMb: 3,
    diskGb: 2,
  })
})

test("a host's own ratio takes precedence over that of the cell, and an aggregate's over both", () => {
  const inventory = { ratios: { vcpus: 8, diskGb: 3 } }
  const aggregates = [{ id: 1, metadata: { disk_allocation_ratio: '2' } }]

  expect(ratiosOf({ inventory, aggregates }, CELL)).toEqual({ ...CELL, vcpus: 8, diskGb: 2 })
})

test('values that are no positive numbers are ignored', () => {
  for (const value of ['', 'much', '0', '-1', '1,5', '1e3'])
    expect([value, of({ cpu_allocation_ratio: value })]).toEqual([value, CELL])
})

test('an aggregate overcommits no whole machines and no quota', () => {
  const aggregates = [{ id: 1, metadata: { cpu_allocation_ratio: '4' } }]
  const exact = { vcpus: 1, memoryMb: 1, diskGb: 1 }

  expect(ratiosOf({ inventory: { machines: [] }, aggregates }, CELL)).toEqual(exact)
  expect(ratiosOf({ inventory: { isQuota: true }, aggregates }, CELL)).toEqual(exact)
})
