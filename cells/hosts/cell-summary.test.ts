import { expect, test } from 'vitest'
import { metricsFilter } from '../scheduler/filters/metrics.ts'
import { numInstancesFilter } from '../scheduler/filters/num-instances.ts'
import type { HostState } from '../scheduler/host-state.ts'
import { schedulingFrom } from '../scheduler/scheduling-from.ts'
import { FILTER_SETTINGS, hostState, WEIGHER_SETTINGS } from '../scheduler/testing.ts'
import { cellSummary } from './cell-summary.ts'

const empty = { vcpus: 16, memoryMb: 1_024, diskGb: 100 }
const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }

function largestOf(
  state: Partial<HostState>,
  filters = [numInstancesFilter],
  metrics: readonly string[] = [],
) {
  const scheduling = {
    filters,
    filterSettings: { ...FILTER_SETTINGS, maxInstancesPerHost: 3, metrics },
    weighers: [],
    weigherSettings: WEIGHER_SETTINGS,
  }
  return cellSummary([], [hostState('a', state)], scheduling).largest
}

test('a host that has as many instances as it may have has nothing free', () => {
  const aggregates = [{ id: 1, metadata: { max_instances_per_host: '1' } }]

  expect(largestOf({ instances: 2 })).toEqual(empty)
  expect(largestOf({ instances: 3 })).toEqual(nothing)
  expect(largestOf({ instances: 1, aggregates })).toEqual(nothing)
})

test('no host has more for one server than it has itself, however often it is promised', () => {
  const maxUnits = { vcpus: 4, memoryMb: 2_048, diskGb: 50 }
  const scheduling = { filters: [], filterSettings: FILTER_SETTINGS, weighers: [] }
  const summary = cellSummary([], [hostState('a', { maxUnits }), hostState('b', { maxUnits })], {
    ...scheduling,
    weigherSettings: WEIGHER_SETTINGS,
  })

  expect(summary.largest).toEqual({ vcpus: 4, memoryMb: 1_024, diskGb: 50 })
  expect(summary.free).toEqual({ vcpus: 32, memoryMb: 2_048, diskGb: 200 })
})

test('no host of machines has more than one of them for a server', () => {
  const custom = { CUSTOM_GOLD: 3 }
  const machines = { isOfMachines: true, limits: { ...nothing, custom } }
  const scheduling = { filters: [], filterSettings: FILTER_SETTINGS, weighers: [] }
  const summaryOf = (state: Partial<HostState>) =>
    cellSummary([], [hostState('a', state)], { ...scheduling, weigherSettings: WEIGHER_SETTINGS })

  expect(summaryOf(machines).largestCustom).toEqual({ CUSTOM_GOLD: 1 })
  expect(summaryOf({ ...machines, isOfMachines: false }).largestCustom).toEqual(custom)
  const taken = { ...machines, used: { ...nothing, custom } }
  expect(summaryOf(taken).largestCustom).toEqual({ CUSTOM_GOLD: 0 })
})

test('the limit of an operator counts only while its filter runs, the limit of a backend always', () => {
  expect(largestOf({ instances: 3 }, [])).toEqual(empty)
  expect(largestOf({ instances: 2, instancesMax: 3 }, [])).toEqual(empty)
  expect(largestOf({ instances: 3, instancesMax: 3 }, [])).toEqual(nothing)
})

test('the summary says which filters run beyond the usual, and which of these do not', () => {
  const choice = {
    ...({ schedulingPolicy: 'filter', filterSettings: FILTER_SETTINGS, weights: {} } as const),
    ...{ weigherSettings: WEIGHER_SETTINGS, filters: ['JsonFilter', 'SameHostFilter'] },
  }

  expect(
    cellSummary(
      [],
      [],
      schedulingFrom(choice, () => 0),
    ),
  ).toMatchObject({
    optionalFilters: ['JsonFilter'],
    filtersLeftOut: [
      'DifferentHostFilter',
      'ComputeCapabilitiesFilter',
      'AggregateInstanceExtraSpecsFilter',
    ],
  })
})

test('traits that administrators gave to hosts count as those that drivers find', () => {
  const given = {
    inventory: null,
    settings: { traits: ['CUSTOM_FAST'] },
    zone: '',
    simulated: true,
  }
  const scheduling = {
    filters: [],
    filterSettings: FILTER_SETTINGS,
    weighers: [],
    weigherSettings: WEIGHER_SETTINGS,
  }

  expect(cellSummary([given, given], [], scheduling).traits).toEqual(['CUSTOM_FAST'])
})

test('a host that lacks a metric has nothing free while MetricsFilter runs', () => {
  const metrics = ['cpu.percent']

  expect(largestOf({}, [metricsFilter], metrics)).toEqual(nothing)
  expect(largestOf({}, [], metrics)).toEqual(empty)
  expect(largestOf({ metrics: { 'cpu.percent': 99 } }, [metricsFilter], metrics)).toEqual(empty)
})
