import { expect, test } from 'vitest'
import { FILTERS } from './filters.ts'
import type { HostState } from './host-state.ts'
import { HostTable } from './host-table.ts'
import { schedulingFrom } from './scheduling-from.ts'
import { selectHosts } from './select-hosts.ts'
import {
  FILTER_SETTINGS,
  hostState as host,
  placementRequest as request,
  WEIGHER_SETTINGS,
} from './testing.ts'

const filters = FILTERS.map(({ name }) => name)
const filterSettings = FILTER_SETTINGS
const weigherSettings = WEIGHER_SETTINGS
const weights = { ram: 1, cpu: 1, disk: 1, instances: 0 }

const wide = (share: number, name: string) =>
  host(name, { used: { vcpus: 16 * share, memoryMb: 0, diskGb: 0 } })
const first = (
  hosts: readonly HostState[],
  choice: Partial<Parameters<typeof schedulingFrom>[0]>,
  random = () => 0,
) => {
  const made = schedulingFrom(
    { schedulingPolicy: 'filter', filters, filterSettings, weights, weigherSettings, ...choice },
    random,
  )
  return selectHosts(new HostTable(hosts), request(), made).hosts.map(({ name }) => name)
}
const busy = host('busy', { used: { vcpus: 8, memoryMb: 512, diskGb: 50 }, instances: 3 })
const idle = host('idle')

test('weights are configuration, and negative ones fill hosts up', () => {
  expect(first([busy, idle], { weights: { ram: -1 } })).toEqual(['busy', 'idle'])
  expect(first([busy, idle], { weights: { instances: 1 } })).toEqual(['idle', 'busy'])
  expect(first([busy, idle], { weights: { ram: 0 } })).toEqual(['busy', 'idle'])
})

test('simple takes the host whose busiest resource is least used', () => {
  const simple = { schedulingPolicy: 'simple' } as const
  const fullDisk = host('disk', { used: { vcpus: 0, memoryMb: 0, diskGb: 90 } })

  expect(first([fullDisk, wide(0.75, 'b'), wide(0.5, 'c'), idle], simple)).toEqual([
    'idle',
    'c',
    'b',
    'disk',
  ])
  const zones = [host('full', { zone: 'east', instances: 9 }), wide(0.5, 'half')]
  expect(first(zones, simple)).toEqual(['full', 'half'])
  const noVcpus = { limits: { vcpus: 0, memoryMb: 100, diskGb: 100 }, used: idle.used }
  const asksNone = request({ resources: { vcpus: 0, memoryMb: 1, diskGb: 1 } })
  const made = schedulingFrom(
    { filters, filterSettings, weights, weigherSettings, ...simple },
    () => 0,
  )
  expect(
    selectHosts(new HostTable([host('a', noVcpus), wide(0.5, 'b')]), asksNone, made).hosts.map(
      ({ name }) => name,
    ),
  ).toEqual(['b', 'a'])
})

test('chance takes whichever host the dice choose', () => {
  const dice = (...numbers: number[]) =>
    first([busy, idle], { schedulingPolicy: 'chance' }, () => numbers.shift()!)

  expect(dice(0.9, 0.1)).toEqual(['busy', 'idle'])
  expect(dice(0.1, 0.9)).toEqual(['idle', 'busy'])
})

test('zone takes the least loaded host of the zone that has the fewest instances', () => {
  const zone = { schedulingPolicy: 'zone' } as const
  const used = { vcpus: 8, memoryMb: 0, diskGb: 0 }
  const hosts = [
    host('a', { zone: 'east', instances: 0 }),
    host('b', { zone: 'east', instances: 3 }),
    host('c', { zone: 'west', instances: 1, used }),
    host('d', { zone: 'west', instances: 1 }),
  ]

  expect(first(hosts, zone)).toEqual(['d', 'c', 'a', 'b'])
  expect(first(hosts.slice(0, 2), zone)).toEqual(['a', 'b'])
})

test('a filter or weigher that does not exist is refused with those that do', () => {
  expect(() => first([], { filters: ['NoSuchFilter'] })).toThrow(
    /^There is no filter 'NoSuchFilter'; there are RetryFilter, RequestedHostFilter, /,
  )
  expect(() => first([], { weights: { gpu: 1 } })).toThrow(
    "There is no weigher 'gpu'; there are ram, cpu, disk, instances, soft_affinity, soft_anti_affinity, io_ops, pci, build_failure, hypervisor_version",
  )
})
