import { describe, expect, test } from 'vitest'
import { asksForImageProperties, asksForIoOps, schedulingFrom } from './scheduling-from.ts'
import { instancesMaxOf } from './select-hosts.ts'
import { FILTER_SETTINGS, hostState, WEIGHER_SETTINGS } from './testing.ts'

const chosen = (filters: readonly string[], weights: Readonly<Record<string, number>> = {}) =>
  schedulingFrom(
    {
      schedulingPolicy: 'filter',
      filters,
      filterSettings: FILTER_SETTINGS,
      weigherSettings: WEIGHER_SETTINGS,
      weights,
    },
    () => 0,
  )

test('I/O operations are asked for by their filter or by their weigher, among others', () => {
  expect(asksForIoOps(chosen([]))).toBe(false)
  expect(asksForIoOps(chosen(['RamFilter'], { ram: 1 }))).toBe(false)
  expect(asksForIoOps(chosen(['RamFilter', 'IoOpsFilter'], { ram: 1 }))).toBe(true)
  expect(asksForIoOps(chosen(['RamFilter'], { ram: 1, io_ops: -1 }))).toBe(true)
})

test('image properties are asked for by their weigher, among others', () => {
  expect(asksForImageProperties(chosen([]))).toBe(false)
  expect(asksForImageProperties(chosen([], { ram: 1 }))).toBe(false)
  expect(asksForImageProperties(chosen([], { ram: 1, image_props: 1 }))).toBe(true)
})

describe('the most instances of a host', () => {
  const both = chosen(['RamFilter', 'BackendInstancesFilter', 'NumInstancesFilter'])

  test('is the smallest number that a filter allows', () => {
    expect(instancesMaxOf(hostState('a', { instancesMax: 7 }), both)).toBe(7)
    expect(instancesMaxOf(hostState('a', { instancesMax: 70 }), both)).toBe(50)
    expect(instancesMaxOf(hostState('a'), both)).toBe(50)
  })

  test('is unknown where no filter counts them', () => {
    expect(instancesMaxOf(hostState('a'), chosen(['RamFilter']))).toBeUndefined()
    expect(instancesMaxOf(hostState('a'), chosen(['BackendInstancesFilter']))).toBeUndefined()
  })
})
