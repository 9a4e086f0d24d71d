import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { FILTERS } from './filters.ts'
import { HostTable } from './host-table.ts'
import { judgeHosts } from './judge-hosts.ts'
import { FILTER_SETTINGS, hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'

test('hosts are in order of their names, and those that differ in nothing common are of one kind', () => {
  const other = [
    { zone: 'east' },
    { isUp: false },
    { traits: ['FAST'] },
    { aggregates: [{ id: 1, metadata: {} }] },
    { aggregates: [{ id: 2, metadata: {} }] },
  ]
  const usage = { used: { vcpus: 1, memoryMb: 1, diskGb: 1 }, instances: 1, address: '192.0.2.1' }
  const table = new HostTable([
    hostState('f', usage),
    hostState('a'),
    ...other.map((state, nth) => hostState(`b${nth}`, state)),
  ])

  expect(table.states.map(({ name }) => name)).toEqual(['a', 'b0', 'b1', 'b2', 'b3', 'b4', 'f'])
  expect([...table.kindOf]).toEqual([0, 1, 2, 3, 4, 5, 0])
  expect(table.kinds).toHaveLength(6)
})

test('a host that is put has the new usage in its state and in the columns', () => {
  const maxUnits = { vcpus: 8, memoryMb: 2_000, diskGb: 95 }
  const host = hostState('a', { instancesMax: 4, maxUnits })
  const table = new HostTable([host])
  const usage = {
    used: { vcpus: 2, memoryMb: 24, diskGb: 5 },
    instances: 3,
    ioOps: 1,
    buildFailures: 2,
    metrics: { 'cpu.percent': 7 },
    imagePropertyUses: new Map([['os_distro=debian', 2]]),
  }

  expect(table.hasFailures).toBe(false)
  table.put(host.hostId, usage)
  table.put(newId(), usage)

  expect(table.state(host.hostId)).toEqual({ ...host, ...usage })
  expect(Object.entries(table.free).map(([name, [free]]) => [name, free])).toEqual([
    ['vcpus', 14],
    ['memoryMb', 1_000],
    ['diskGb', 95],
    ['instances', 1],
  ])
  expect(Object.entries(table.mostOfOne).map(([name, [most]]) => [name, most])).toEqual([
    ['vcpus', 8],
    ['memoryMb', 1_000],
    ['diskGb', 95],
    ['instances', 1],
  ])
  expect(table.hasFailures).toBe(true)
})

// Whatever a filter says of itself (kinds, room, requests that it is not concerned with), its verdicts are those of `refuse`.
test('for any hosts and request, each filter refuses exactly the hosts of which it has a reason', () => {
  const amount = fc.integer({ min: 0, max: 3 })
  const resources = fc.record({
    vcpus: amount,
    memoryMb: amount,
    diskGb: amount,
    custom: fc.dictionary(fc.constantFrom('PCPU', 'CUSTOM_PCI_GPU'), amount),
  })
  const name = fc.constantFrom('a', 'b')
  const texts = fc.dictionary(
    fc.constantFrom('filter_tenant_id', 'instance_type', 'max_instances_per_host', 'os_distro'),
    fc.constantFrom('blue', 'm1.tiny', '1'),
  )
  const anyHost = fc.record({
    zone: name,
    isUp: fc.boolean(),
    isDisabled: fc.boolean(),
    filtersPorts: fc.boolean(),
    traits: fc.subarray(['FAST', 'OLD']),
    imageProperties: fc.option(fc.subarray(['hw_disk_bus'])),
    limits: resources,
    maxUnits: resources,
    used: resources,
    instances: amount,
    instancesMax: amount,
    ioOps: amount,
    aggregates: fc.array(
      texts.map((metadata) => ({ id: 1, metadata })),
      { maxLength: 2 },
    ),
  })
  const anyRequest = fc.record({
    resources,
    zone: fc.option(name),
    requestedHost: fc.option(name),
    needsFirewall: fc.boolean(),
    traits: fc.record({ required: fc.subarray(['FAST']), forbidden: fc.subarray(['OLD']) }),
    extraSpecs: fc.dictionary(fc.constantFrom('hw:numa_nodes', 'num_instances'), fc.constant('1')),
    image: fc.record({
      diskFormat: fc.constantFrom('raw', 'iso'),
      properties: fc.dictionary(fc.constantFrom('hw_disk_bus', 'os_distro'), fc.constant('blue')),
    }),
  })
  const settings = { ...FILTER_SETTINGS, maxInstancesPerHost: 2, maxIoOpsPerHost: 2 }

  fc.assert(
    fc.property(fc.array(anyHost, { maxLength: 6 }), anyRequest, (states, change) => {
      const request = placementRequest(change)
      const table = new HostTable(states.map((state, nth) => hostState(`h${nth}`, state)))
      for (const filter of FILTERS) {
        const scheduling = {
          filters: [filter],
          filterSettings: settings,
          weighers: [],
          weigherSettings: WEIGHER_SETTINGS,
        }
        const { fitting } = judgeHosts(table, request, scheduling)
        const passed = Array.from(table.workspace.left.slice(0, fitting), (at) => table.states[at])
        const expected = table.states.filter(
          (host) => filter.refuse(host, request, settings) === undefined,
        )
        expect([filter.name, passed]).toEqual([filter.name, expected])
      }
    }),
  )
})
