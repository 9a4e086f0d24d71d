import { describe, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { Filter, FilterSettings } from './filter.ts'
import { DEFAULT_FILTERS, FILTERS } from './filters.ts'
import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from './testing.ts'

/** Why the filter of this name refuses the host; undefined where it lets it pass. */
function refusal(
  name: string,
  state: Partial<HostState>,
  request: Partial<PlacementRequest> = {},
  settings: FilterSettings = FILTER_SETTINGS,
): string | undefined {
  const filter = FILTERS.find((each) => each.name === name)!
  return filter.refuse(hostState('a', state), placementRequest(request), settings)
}

test('an empty host that is up passes every filter, and no filter has a name twice', () => {
  const request = placementRequest()

  const refused = (filter: Filter) =>
    filter.refuse(hostState('a'), request, FILTER_SETTINGS) !== undefined
  expect(FILTERS.filter(refused)).toEqual([])
  expect(new Set(FILTERS.map(({ name }) => name)).size).toBe(FILTERS.length)
})

describe.each([
  ['RamFilter', 'memoryMb', 1_024, 'MiB of memory'],
  ['CoreFilter', 'vcpus', 16, 'VCPUs'],
  ['DiskFilter', 'diskGb', 100, 'GiB of disk'],
] as const)('%s', (name, amount, limit, unit) => {
  const wants = (value: number) => ({
    resources: { vcpus: 0, memoryMb: 0, diskGb: 0, [amount]: value },
  })
  const uses = (value: number) => ({
    used: { vcpus: 0, memoryMb: 0, diskGb: 0, [amount]: value },
  })

  const maxUnits = { vcpus: 10_000, memoryMb: 10_000, diskGb: 10_000 }

  test('lets a server pass that takes exactly the free amount', () => {
    expect(refusal(name, {}, wants(limit))).toBeUndefined()
    expect(refusal(name, uses(limit - 3), wants(3))).toBeUndefined()
    expect(refusal(name, uses(limit), wants(0))).toBeUndefined()
  })

  test('refuses one more than the free amount, with both numbers', () => {
    expect(refusal(name, { maxUnits }, wants(limit + 1))).toBe(
      `has ${limit} ${unit} free, ${limit + 1} are needed`,
    )
    expect(refusal(name, uses(limit - 3), wants(4))).toBe(`has 3 ${unit} free, 4 are needed`)
  })

  test('refuses more than the host has, however often it is promised and however empty it is', () => {
    const few = { maxUnits: { vcpus: 4, memoryMb: 4, diskGb: 4 } }
    expect(refusal(name, few, wants(4))).toBeUndefined()
    expect(refusal(name, few, wants(5))).toBe(`gives a server at most 4 ${unit}, 5 are needed`)
    expect(refusal(name, { ...few, ...uses(limit) }, wants(4))).toBe(
      `has 0 ${unit} free, 4 are needed`,
    )
  })

  test('says 0, not a negative number, of a host that is over its limit', () => {
    expect(refusal(name, uses(limit + 5), wants(1))).toBe(`has 0 ${unit} free, 1 are needed`)
  })
})

test('BackendInstancesFilter passes hosts below the limit of their backend, and hosts without one', () => {
  const name = 'BackendInstancesFilter'
  expect(refusal(name, { instances: 1, instancesMax: 2 }, {})).toBeUndefined()
  expect(refusal(name, { instances: 900 }, {})).toBeUndefined()
  expect(refusal(name, { instances: 2, instancesMax: 2 }, {})).toBe(
    'has 2 instances, its backend takes 2',
  )
})

describe('IoOpsFilter', () => {
  const of = (ioOps: number, ...aggregates: readonly Record<string, string>[]) =>
    refusal(
      'IoOpsFilter',
      { ioOps, aggregates: aggregates.map((metadata, id) => ({ id: id + 1, metadata })) },
      {},
      { ...FILTER_SETTINGS, maxIoOpsPerHost: 2 },
    )
  const max = (value: string) => ({ max_io_ops_per_host: value })

  test('refuses a host that has as much to do as the cell allows, or more', () => {
    expect(of(1)).toBeUndefined()
    expect(of(2)).toBe('has 2 servers being built or changed, max_io_ops_per_host of the cell is 2')
    expect(of(3)).toContain('has 3 servers')
  })

  test('the smallest number of the aggregates takes precedence over the cell', () => {
    expect(of(3, max('5'), max('4'))).toBeUndefined()
    expect(of(4, max('5'), max('4'))).toContain('max_io_ops_per_host of aggregate 2 is 4')
    expect(of(1, max('1'))).toContain('of aggregate 1 is 1')
    expect(of(2, max('many'))).toContain('of the cell is 2')
  })
})

test('PciPassthroughFilter judges devices, and ResourceClassFilter all other classes', () => {
  const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
  const host = {
    limits: { ...nothing, custom: { CUSTOM_PCI_GPU: 2, PCPU: 4 } },
    used: { ...nothing, custom: { CUSTOM_PCI_GPU: 1, PCPU: 2 } },
  }
  const wants = (custom: Record<string, number>) => ({ resources: { ...nothing, custom } })
  const both = (custom: Record<string, number>, state: Partial<HostState> = host) =>
    ['PciPassthroughFilter', 'ResourceClassFilter'].map((name) =>
      refusal(name, state, wants(custom)),
    )

  expect(both({ CUSTOM_PCI_GPU: 1, PCPU: 2 })).toEqual([undefined, undefined])
  expect(both({ CUSTOM_PCI_GPU: 2, PCPU: 3 })).toEqual([
    'has 1 CUSTOM_PCI_GPU free, 2 are needed',
    'has 2 PCPU free, 3 are needed',
  ])
  expect(both({ CUSTOM_PCI_NIC: 1 }, {})).toEqual([
    'has 0 CUSTOM_PCI_NIC free, 1 are needed',
    undefined,
  ])
})

describe('NumInstancesFilter', () => {
  const of = (instances: number, ...aggregates: readonly Record<string, string>[]) =>
    refusal(
      'NumInstancesFilter',
      { instances, aggregates: aggregates.map((metadata, id) => ({ id: id + 1, metadata })) },
      {},
      { ...FILTER_SETTINGS, maxInstancesPerHost: 3 },
    )
  const max = (value: string) => ({ max_instances_per_host: value })

  test('refuses a host that has as many instances as the cell allows, or more', () => {
    expect(of(2)).toBeUndefined()
    expect(of(3)).toBe('has 3 instances, max_instances_per_host of the cell is 3')
    expect(of(4)).toBe('has 4 instances, max_instances_per_host of the cell is 3')
  })

  test('an aggregate takes precedence over the cell, whether it allows more or less', () => {
    expect(of(4, max('5'))).toBeUndefined()
    expect(of(11, max('12'))).toBeUndefined()
    expect(of(5, max('5'))).toBe('has 5 instances, max_instances_per_host of aggregate 1 is 5')
    expect(of(1, max('1'))).toBe('has 1 instances, max_instances_per_host of aggregate 1 is 1')
    expect(of(0, max('0'))).toBe('has 0 instances, max_instances_per_host of aggregate 1 is 0')
  })

  test('of several aggregates the smallest number counts, whichever comes first', () => {
    const reason = 'has 9 instances, max_instances_per_host of aggregate 2 is 9'

    expect(of(8, max('10'), max('9'), { ssd: 'true' })).toBeUndefined()
    expect(of(9, max('10'), max('9'), { ssd: 'true' })).toBe(reason)
    expect(of(9, { ssd: 'true' }, max(' 9 '), max('100'))).toBe(reason)
  })

  test('aggregate values that are not whole numbers are ignored', () => {
    for (const value of ['many', '', '-1', '1.5', '4,5', '0x9', '1e1'])
      expect([value, of(2, max(value)), of(3, max(value))]).toEqual([
        value,
        undefined,
        'has 3 instances, max_instances_per_host of the cell is 3',
      ])
    expect(of(4, max('many'), max('5'))).toBeUndefined()
    expect(of(3, { constructor: '1' })).toContain('of the cell is 3')
  })

  test('is off unless it is named, as some others are', () => {
    const named = FILTERS.filter(({ runs }) => runs === 'named').map(({ name }) => name)

    expect(FILTERS.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual(
      DEFAULT_FILTERS,
    )
    expect(named).toEqual([
      'NumInstancesFilter',
      'IoOpsFilter',
      'MetricsFilter',
      'JsonFilter',
      'SimpleCIDRAffinityFilter',
      'IsolatedHostsFilter',
      'AggregateTypeAffinityFilter',
      'AggregateImagePropertiesIsolation',
    ])
  })
})

describe('server groups', () => {
  const here = newId<HostId>()
  const elsewhere = newId<HostId>()
  const group = (policy: string, members: readonly (readonly [HostId, number])[], maxPerHost = 1) =>
    ({
      group: { id: 'g', policy, maxPerHost, members: new Map(members) },
    }) as Partial<PlacementRequest>
  const of = (name: string, request: Partial<PlacementRequest>) =>
    refusal(name, { hostId: here }, request)

  test.each([
    ['the first server of a group goes anywhere', [], undefined],
    ['a host that has one of its servers', [[here, 1]], undefined],
    ['a host that has none of them', [[elsewhere, 1]], "is not the host of the server's group"],
  ] as const)('affinity: %s', (_, members, expected) => {
    expect(of('ServerGroupAffinityFilter', group('affinity', members))).toBe(expected)
  })

  test.each([
    ['a host that has none of its servers', [[elsewhere, 5]], 1, undefined],
    ['a host with one fewer than allowed', [[here, 1]], 2, undefined],
    ['a host with as many as allowed', [[here, 2]], 2, 'has 2 of the servers of its group'],
    ['a host with more than allowed', [[here, 3]], 2, 'has 3 of the servers of its group'],
  ] as const)('anti-affinity: %s', (_, members, maxPerHost, expected) => {
    const request = group('anti-affinity', members, maxPerHost)

    expect(of('ServerGroupAntiAffinityFilter', request)).toBe(expected)
  })

  test('each filter leaves groups of other policies alone', () => {
    for (const policy of ['anti-affinity', 'soft-affinity', 'soft-anti-affinity'])
      expect(of('ServerGroupAffinityFilter', group(policy, [[elsewhere, 1]]))).toBeUndefined()
    for (const policy of ['affinity', 'soft-affinity', 'soft-anti-affinity'])
      expect(of('ServerGroupAntiAffinityFilter', group(policy, [[here, 9]]))).toBeUndefined()
  })
})

describe('where a server is asked to be', () => {
  test.each([
    ['AvailabilityZoneFilter', { zone: null }, undefined],
    ['AvailabilityZoneFilter', { zone: 'nova' }, undefined],
    ['AvailabilityZoneFilter', { zone: 'east' }, 'is in zone nova'],
    ['RequestedHostFilter', { requestedHost: null }, undefined],
    ['RequestedHostFilter', { requestedHost: 'a' }, undefined],
    ['RequestedHostFilter', { requestedHost: 'b' }, 'is not the host asked for'],
  ] as const)('%s %j', (name, request, expected) => {
    expect(refusal(name, {}, request)).toBe(expected)
  })

  test('hints and earlier tries name hosts by id', () => {
    const hostId = newId<HostId>()
    const others = new Set([newId<HostId>()])
    const this1 = new Set([hostId])

    expect(refusal('SameHostFilter', { hostId }, { sameHosts: null })).toBeUndefined()
    expect(refusal('SameHostFilter', { hostId }, { sameHosts: this1 })).toBeUndefined()
    expect(refusal('SameHostFilter', { hostId }, { sameHosts: others })).toContain('has none')
    expect(refusal('DifferentHostFilter', { hostId }, { differentHosts: others })).toBeUndefined()
    expect(refusal('DifferentHostFilter', { hostId }, { differentHosts: this1 })).toContain('apart')
    expect(refusal('RetryFilter', { hostId }, { triedHosts: others })).toBeUndefined()
    expect(refusal('RetryFilter', { hostId }, { triedHosts: this1 })).toEqual(expect.any(String))
  })

  test('only a server that needs a firewall minds a host without', () => {
    const name = 'SecurityGroupFilter'

    expect(refusal(name, { filtersPorts: false }, { needsFirewall: false })).toBeUndefined()
    expect(refusal(name, { filtersPorts: true }, { needsFirewall: true })).toBeUndefined()
    expect(refusal(name, { filtersPorts: false }, { needsFirewall: true })).toBeDefined()
  })
})

describe('aggregates', () => {
  const aggregates = (...all: readonly Record<string, string>[]) => ({
    aggregates: all.map((metadata, id) => ({ id, metadata })),
  })
  const specs = (key: string, value: string) => ({
    extraSpecs: { [`aggregate_instance_extra_specs:${key}`]: value },
  })
  const extraSpecs = (
    state: Partial<HostState>,
    request: Partial<PlacementRequest>,
  ): string | undefined => refusal('AggregateInstanceExtraSpecsFilter', state, request)

  test('one value of one aggregate is enough for an extra spec', () => {
    expect(extraSpecs(aggregates({ ssd: 'true' }), specs('ssd', 'true'))).toBeUndefined()
    expect(
      extraSpecs(aggregates({ ssd: 'no' }, { ssd: 'a, true ,b' }), specs('ssd', 'true')),
    ).toBeUndefined()
    expect(extraSpecs(aggregates({ ssd: 'no' }), specs('ssd', 'true'))).toBe(
      'is in no aggregate where ssd is true',
    )
    expect(extraSpecs(aggregates({ tape: 'true' }), specs('ssd', 'true'))).toBeDefined()
    expect(extraSpecs({}, specs('ssd', 'true'))).toBeDefined()
    expect(extraSpecs(aggregates({ tape: 'true' }), specs('ssd', 's!= true'))).toBeDefined()
  })

  test('every scoped extra spec must hold; those of other scopes are of other filters', () => {
    const host = aggregates({ ssd: 'true', rack: '7' })

    expect(
      extraSpecs(host, {
        extraSpecs: {
          'hw:cpu_policy': 'dedicated',
          'aggregate_instance_extra_specs:ssd': 'true',
          'aggregate_instance_extra_specs:rack': '8',
        },
      }),
    ).toBe('is in no aggregate where rack is 8')
    expect(extraSpecs(host, { extraSpecs: { 'hw:cpu_policy': 'dedicated' } })).toBeUndefined()
  })

  test('names that every object has are keys like any other', () => {
    expect(extraSpecs(aggregates({ ssd: 'true' }), specs('constructor', 'x'))).toBe(
      'is in no aggregate where constructor is x',
    )
    expect(extraSpecs(aggregates({ ssd: 'constructor x' }), specs('ssd', 'constructor x'))).toBe(
      undefined,
    )
    expect(extraSpecs(aggregates({ ssd: 'y' }), specs('ssd', 'constructor x'))).toBeDefined()
  })

  test('an aggregate of tenants refuses others, with any suffix of the key', () => {
    const of = (...all: readonly Record<string, string>[]) =>
      refusal('AggregateMultiTenancyIsolation', aggregates(...all))

    expect(of({ ssd: 'true' })).toBeUndefined()
    expect(of({ filter_tenant_id: 'blue' })).toBeUndefined()
    expect(of({ filter_tenant_id: 'red', filter_tenant_id_2: 'green, blue' })).toBeUndefined()
    expect(of({ filter_tenant_id: 'red' }, { filter_tenant_id: 'blue' })).toBeUndefined()
    expect(of({ filter_tenant_id: 'red' }, { ssd: 'blue' })).toBe('is kept for other projects')
  })
})

describe('ImagePropertiesFilter', () => {
  const of = (state: Partial<HostState>, properties: Record<string, string>) =>
    refusal('ImagePropertiesFilter', state, { image: { diskFormat: 'qcow2', properties } })

  test.each([
    ['x64', 'x86_64'],
    ['arm64', 'aarch64'],
    ['i386', 'i686'],
    ['x86', 'i686'],
    ['X86_64', 'x86_64'],
  ])('%s is another name for %s', (name, architecture) => {
    expect(of({ architecture }, { hw_architecture: name })).toBeUndefined()
    expect(of({ architecture }, { architecture: name })).toBeUndefined()
    expect(of({ architecture: 's390x' }, { hw_architecture: name })).toBe(
      'is of architecture s390x',
    )
  })

  test('a KVM host runs images made for QEMU, and no other host runs those of another type', () => {
    expect(of({ hypervisorType: 'KVM' }, { img_hv_type: 'QEMU' })).toBeUndefined()
    expect(of({ hypervisorType: 'QEMU' }, { img_hv_type: 'kvm' })).toBe('runs QEMU guests')
    expect(of({ hypervisorType: 'docker' }, { img_hv_type: 'docker' })).toBeUndefined()
  })

  test('an architecture that every object has as a property is an unknown architecture', () => {
    expect(of({}, { hw_architecture: 'constructor' })).toBe('is of architecture x86_64')
  })
})

describe('PhysicalNetworkFilter', () => {
  const of = (
    segments: readonly (string | null)[],
    machineSegments: readonly string[] | null,
    mappedNetworks: readonly string[] = ['SITE'],
  ) => refusal('PhysicalNetworkFilter', { machineSegments, mappedNetworks }, { segments })

  test('a host of other guests, or whose networks the site alone knows, takes every network', () => {
    expect(of([null, 'SITE:7', 'ELSEWHERE'], null, [])).toBeUndefined()
    expect(of([], [], [])).toBeUndefined()
  })

  test.each<[string, string | null, readonly string[], readonly string[], string]>([
    ['a tenant network', null, ['SITE', 'SITE:7'], ['SITE'], "machines' networks (SITE, SITE:7)"],
    ['a tenant network, without NICs', null, [], ['SITE'], "machines' networks (none)"],
    ['another VLAN', 'SITE:8', ['SITE', 'SITE:7'], ['SITE'], 'no machine with a NIC on SITE:8'],
    ['the untagged network', 'SITE', ['SITE:7'], ['SITE'], 'no machine with a NIC on SITE:'],
    ['a network that no host maps', 'SITE:7', ['SITE:7'], ['OTHER'], 'maps SITE to a bridge'],
  ])('machines do not take %s', (_, segment, machineSegments, mapped, reason) => {
    expect(of([segment], machineSegments, mapped)).toContain(reason)
    expect(of(['SITE:9', segment], [...machineSegments, 'SITE:9'], mapped)).toBeDefined()
  })

  test('machines take networks that their NICs are on, and that a host of the cell maps', () => {
    expect(of(['SITE', 'SITE:7'], ['SITE', 'SITE:7'])).toBeUndefined()
  })
})
