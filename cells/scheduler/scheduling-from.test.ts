import { describe, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import { DEFAULT_FILTERS } from './filters.ts'
import { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import {
  asksForImageProperties,
  asksForIoOps,
  filtersLeftOut,
  schedulingFrom,
} from './scheduling-from.ts'
import { instancesMaxOf, selectHosts } from './select-hosts.ts'
import { FILTER_SETTINGS, hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'

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

describe('where an operator names few filters', () => {
  const host = hostState('a')
  const refusals = (wish: Partial<PlacementRequest>, filters = ['ComputeFilter']) =>
    selectHosts(new HostTable([host]), placementRequest(wish), chosen(filters))
      .filters.filter(({ refused }) => refused > 0)
      .map(({ name, examples }) => `${name} ${examples[0]?.reason}`)

  test.each<[string, Partial<PlacementRequest>]>([
    ['TraitsFilter lacks', { traits: { required: ['CUSTOM_FAST'], forbidden: [] } }],
    ['RamFilter has', { resources: { vcpus: 1, memoryMb: 10_000, diskGb: 1 } }],
    [
      'ResourceClassFilter has',
      { resources: { vcpus: 1, memoryMb: 1, diskGb: 1, custom: { CUSTOM_GOLD: 1 } } },
    ],
    ['AvailabilityZoneFilter is', { zone: 'east' }],
    ['RequestedHostFilter is', { requestedHost: 'b' }],
    [
      'ImagePropertiesFilter is',
      { image: { diskFormat: 'raw', properties: { hw_architecture: 'arm' } } },
    ],
    ['ExtraSpecsFilter cannot', { extraSpecs: { 'trait1:FAST': 'required' } }],
  ])('the others still hold hosts to what every request relies on: %s', (refusal, wish) => {
    expect(refusals(wish)).toEqual([expect.stringContaining(refusal.split(' ')[0]!)])
  })

  test.each<[string, Partial<PlacementRequest>]>([
    ['SameHostFilter', { sameHosts: new Set([host.hostId]) }],
    ['DifferentHostFilter', { differentHosts: new Set([newId<HostId>()]) }],
    ['ComputeCapabilitiesFilter', { extraSpecs: { 'capabilities:vcpus_total': '>= 1' } }],
    [
      'AggregateInstanceExtraSpecsFilter',
      { extraSpecs: { 'aggregate_instance_extra_specs:ssd': 'true' } },
    ],
  ])('no host takes a request that depends on %s, which is left out', (name, wish) => {
    expect(refusals(wish)).toEqual([expect.stringContaining(`${name} is in a cell that does not`)])
    expect(refusals(wish, [name]).join()).not.toContain('in a cell that does not')
    expect(refusals({})).toEqual([])
    expect(filtersLeftOut(chosen(['ComputeFilter']))).toContain(name)
    expect(filtersLeftOut(chosen([name]))).not.toContain(name)
  })

  test('what only operators depend on does not run, and nothing runs twice', () => {
    const names = (filters: readonly string[]) => chosen(filters).filters.map(({ name }) => name)

    expect(names(['ComputeFilter'])).not.toContain('AggregateMultiTenancyIsolation')
    expect(
      names(['ComputeFilter', 'ComputeFilter']).filter((name) => name === 'ComputeFilter'),
    ).toHaveLength(1)
    expect(names(DEFAULT_FILTERS)).toEqual(DEFAULT_FILTERS)
    expect(filtersLeftOut(chosen(DEFAULT_FILTERS))).toEqual([])
  })
})

test.each([
  ['AggregateRamFilter', ['RamFilter']],
  ['AggregateCoreFilter', ['CoreFilter']],
  ['AggregateDiskFilter', ['DiskFilter']],
  ['AggregateNumInstancesFilter', ['NumInstancesFilter']],
  ['AggregateIoOpsFilter', ['IoOpsFilter']],
  ['AllHostsFilter', []],
])("Nova's name %s stands for %j", (name, expected) => {
  const names = (...filters: readonly string[]) =>
    chosen(filters).filters.map((filter) => filter.name)

  expect(names(name)).toEqual(names(...expected))
  expect(names(name, ...expected)).toEqual(names(...expected))
})

test('what aggregates say counts by either name of a filter', () => {
  const aggregates = [
    { id: 1, metadata: { max_instances_per_host: '1', max_io_ops_per_host: '1' } },
  ]
  const host = hostState('a', { aggregates, instances: 1, ioOps: 1 })
  const refusing = (name: string) =>
    selectHosts(new HostTable([host]), placementRequest(), chosen([name])).hosts.length === 0

  for (const name of ['NumInstancesFilter', 'IoOpsFilter'])
    expect([refusing(name), refusing(`Aggregate${name}`)]).toEqual([true, true])
  expect(asksForIoOps(chosen(['AggregateIoOpsFilter']))).toBe(true)
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
