import { describe, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import { FILTERS } from '../filters.ts'
import type { PlacementRequest } from '../placement-request.ts'
import { placementRequest } from '../testing.ts'

type Wish = Partial<PlacementRequest>

const host = newId<HostId>()
const wants = (custom: Record<string, number>): Wish => ({
  resources: { vcpus: 1, memoryMb: 1, diskGb: 1, custom },
})
const traits = (required: readonly string[], forbidden: readonly string[]): Wish => ({
  traits: { required, forbidden },
})
const group = (policy: string): Wish =>
  ({ group: { id: 'g', policy, maxPerHost: 1, members: new Map() } }) as Wish

/** For each filter, requests with which it has to do, and others. */
const CONCERNS: Readonly<Record<string, readonly [readonly Wish[], readonly Wish[]]>> = {
  RetryFilter: [[{ triedHosts: new Set([host]) }], []],
  RequestedHostFilter: [[{ requestedHost: 'a' }], []],
  AvailabilityZoneFilter: [[{ zone: 'east' }], []],
  ServerGroupAffinityFilter: [[group('affinity')], [group('anti-affinity')]],
  ServerGroupAntiAffinityFilter: [[group('anti-affinity')], [group('affinity')]],
  SameHostFilter: [[{ sameHosts: new Set() }], []],
  DifferentHostFilter: [[{ differentHosts: new Set([host]) }], []],
  StoreFilter: [[{ storeHosts: new Set() }], []],
  ResourceClassFilter: [
    [
      wants({ PCPU: 1 }),
      wants({ CUSTOM_PCI_GPU: 1, PCPU: 1 }),
      wants({ CUSTOM_NO_CUSTOM_PCI_: 1 }),
    ],
    [wants({}), wants({ CUSTOM_PCI_GPU: 1 })],
  ],
  PciPassthroughFilter: [
    [wants({ CUSTOM_PCI_GPU: 1 }), wants({ PCPU: 1, CUSTOM_PCI_GPU: 1 })],
    [wants({}), wants({ PCPU: 1 }), wants({ CUSTOM_NO_CUSTOM_PCI_: 1 })],
  ],
  NUMATopologyFilter: [[{ numa: { parts: [], isDedicated: false, page: null } }], []],
  TraitsFilter: [[traits(['FAST'], []), traits([], ['OLD']), traits(['FAST'], ['OLD'])], []],
  ExtraSpecsFilter: [[{ extraSpecs: { 'hw:cpu_policy': 'shared' } }], []],
  ComputeCapabilitiesFilter: [
    [{ extraSpecs: { 'capabilities:host': 'a' } }, { extraSpecs: { ssd: 'true' } }],
    [
      { extraSpecs: { 'hw:cpu_policy': 'shared', hide_hypervisor_id: 'true' } },
      { extraSpecs: { 'trait:FAST': 'required', 'resources1:VCPU': '1', group_policy: 'none' } },
    ],
  ],
  SecurityGroupFilter: [[{ needsFirewall: true }], []],
  JsonFilter: [[{ hints: { query: [] } }], [{ hints: { cidr: ['/24'] } }]],
  SimpleCIDRAffinityFilter: [
    [{ hints: { build_near_host_ip: ['192.0.2.1'] } }],
    [{ hints: { cidr: ['/24'] } }],
  ],
  AggregateInstanceExtraSpecsFilter: [
    [{ extraSpecs: { 'aggregate_instance_extra_specs:ssd': 'true' } }],
    [{ extraSpecs: { ssd: 'true' } }],
  ],
}

describe.each(Object.entries(CONCERNS))('%s', (name, [concerned, others]) => {
  const { concerns } = FILTERS.find((each) => each.name === name)!

  test('looks at hosts for requests that have to do with it, and for no others', () => {
    for (const wish of concerned) expect(concerns?.(placementRequest(wish))).toBe(true)
    for (const wish of [{}, ...others]) expect(concerns?.(placementRequest(wish))).toBe(false)
  })
})

test('all other filters look at hosts for every request', () => {
  const others = FILTERS.filter(({ concerns }) => concerns === undefined)

  expect([...others.map(({ name }) => name), ...Object.keys(CONCERNS)].toSorted()).toEqual(
    FILTERS.map(({ name }) => name).toSorted(),
  )
})

test('a server that is rebuilt is held against what its image asks for', () => {
  const rebuilt = FILTERS.filter(({ runsOnRebuild }) => runsOnRebuild)

  expect(rebuilt.map(({ name }) => name)).toEqual([
    'NUMATopologyFilter',
    'ImagePropertiesFilter',
    'TraitsFilter',
    'IsolatedHostsFilter',
    'AggregateImagePropertiesIsolation',
  ])
})
