import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FILTERS } from './filters.ts'
import type { HostState } from './host-state.ts'
import { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import { schedulingFrom } from './scheduling-from.ts'
import { selectHosts } from './select-hosts.ts'
import { FILTER_SETTINGS, hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'

const filters = FILTERS.map(({ name }) => name)
const filterSettings = { ...FILTER_SETTINGS, metrics: ['cpu.percent'] }
const weigherSettings = WEIGHER_SETTINGS
const weights = { ram: 1, cpu: 1, disk: 1, instances: 0 }
const scheduling = schedulingFrom(
  { schedulingPolicy: 'filter', filters, filterSettings, weigherSettings, weights },
  () => 0,
)

const host = (name: string, change: Partial<HostState> = {}) =>
  hostState(name, { metrics: { 'cpu.percent': 20 }, ...change })
const request = placementRequest
const image = (properties: Record<string, string>, diskFormat = 'qcow2') => ({
  image: { diskFormat, properties },
})
const full = { vcpus: 16, memoryMb: 1_024, diskGb: 100 }

test.each([
  ['ComputeFilter', 'is down', { isUp: false }, {}],
  ['ComputeFilter', 'is disabled', { isDisabled: true }, {}],
  [
    'SecurityGroupFilter',
    'does not enforce security groups',
    { filtersPorts: false },
    { needsFirewall: true },
  ],
  [
    'PhysicalNetworkFilter',
    'has whole machines, which tenant networks do not reach',
    { machineSegments: ['SITE'], mappedNetworks: ['SITE'] },
    { segments: [null] },
  ],
  [
    'TraitsFilter',
    'lacks the trait CUSTOM_FAST',
    {},
    { traits: { required: ['CUSTOM_FAST'], forbidden: [] } },
  ],
  [
    'ExtraSpecsFilter',
    'does not support the extra spec hw:tpm_model',
    { extraSpecs: [] },
    { extraSpecs: { 'hw:tpm_model': 'tpm-crb' } },
  ],
  [
    'ComputeCapabilitiesFilter',
    'has hypervisor_type QEMU, KVM is needed',
    {},
    { extraSpecs: { 'capabilities:hypervisor_type': 'KVM' } },
  ],
  [
    'JsonFilter',
    'does not match the query',
    {},
    { hints: { query: ['["=", "$hypervisor_type", "KVM"]'] } },
  ],
  [
    'SimpleCIDRAffinityFilter',
    'outside 192.0.3.1/24',
    { address: '192.0.2.1' },
    { hints: { build_near_host_ip: ['192.0.3.1'] } },
  ],
  [
    'AggregateTypeAffinityFilter',
    'is in aggregates for the flavors m1.huge',
    { aggregates: [{ id: 1, metadata: { instance_type: 'm1.huge' } }] },
    {},
  ],
  [
    'AggregateImagePropertiesIsolation',
    'is in aggregates where os_distro is debian',
    { aggregates: [{ id: 1, metadata: { os_distro: 'debian' } }] },
    image({ os_distro: 'windows' }),
  ],
  ['AvailabilityZoneFilter', 'is in zone nova', {}, { zone: 'east' }],
  ['RequestedHostFilter', 'is not the host asked for', {}, { requestedHost: 'other' }],
  ['RamFilter', 'has 0 MiB of memory free, 128 are needed', { used: { ...full, vcpus: 0 } }, {}],
  ['CoreFilter', 'has 0 VCPUs free, 1 are needed', { used: { ...full, memoryMb: 0 } }, {}],
  ['DiskFilter', 'has 0 GiB of disk free', { used: { vcpus: 0, memoryMb: 0, diskGb: 100 } }, {}],
  [
    'ResourceClassFilter',
    'has 1 CUSTOM_GOLD free, 2 are needed',
    {
      limits: { ...full, custom: { CUSTOM_GOLD: 2 } },
      used: { vcpus: 0, memoryMb: 0, diskGb: 0, custom: { CUSTOM_GOLD: 1 } },
    },
    { resources: { vcpus: 0, memoryMb: 0, diskGb: 0, custom: { CUSTOM_GOLD: 2 } } },
  ],
  [
    'PciPassthroughFilter',
    'has 0 CUSTOM_PCI_GPU free, 1 are needed',
    {},
    { resources: { vcpus: 0, memoryMb: 0, diskGb: 0, custom: { CUSTOM_PCI_GPU: 1 } } },
  ],
  [
    'IoOpsFilter',
    'has 8 servers being built or changed, max_io_ops_per_host of the cell is 8',
    { ioOps: 8 },
    {},
  ],
  [
    'NUMATopologyFilter',
    'has 1 NUMA nodes, no 1 of them with 2 CPUs and 64 MiB',
    { numa: [{ id: 0, cpus: 1, dedicatedCpus: 0, memoryMb: 64, pages: {} }] },
    { numa: { parts: [{ vcpus: [0, 1], memoryMb: 64 }], isDedicated: false, page: null } },
  ],
  ['MetricsFilter', 'does not report the metric cpu.percent', { metrics: {} }, {}],
  [
    'BackendInstancesFilter',
    'has 2 instances, its backend takes 2',
    { instances: 2, instancesMax: 2 },
    {},
  ],
  [
    'NumInstancesFilter',
    'has 50 instances, max_instances_per_host of the cell is 50',
    { instances: 50 },
    {},
  ],
  ['ImagePropertiesFilter', 'is simulated', { simulated: true }, {}],
  ['ImagePropertiesFilter', 'runs QEMU guests', {}, image({ hypervisor_type: 'fake' })],
  ['ImagePropertiesFilter', 'runs QEMU guests', {}, image({ img_hv_type: 'kvm' })],
  ['ImagePropertiesFilter', 'architecture x86_64', {}, image({ hw_architecture: 'aarch64' })],
  [
    'AggregateInstanceExtraSpecsFilter',
    'is in no aggregate where ssd is true',
    { aggregates: [{ id: 1, metadata: { ssd: 'false' } }] },
    { extraSpecs: { 'aggregate_instance_extra_specs:ssd': 'true' } },
  ],
  [
    'AggregateMultiTenancyIsolation',
    'is kept for other projects',
    { aggregates: [{ id: 1, metadata: { filter_tenant_id_2: 'red, green' } }] },
    {},
  ],
  ['ImagePropertiesFilter', 'cannot boot vhd images', {}, image({}, 'vhd')],
  [
    'ImagePropertiesFilter',
    'has version 7002000 of its hypervisor, >=8 is needed',
    {},
    image({ hypervisor_version_requires: '>=8' }),
  ],
  [
    'ImagePropertiesFilter',
    'could not be judged: ImagePropertiesFilter failed with "the image requires the version "new"',
    {},
    image({ img_hv_requested_version: 'new' }),
  ],
  [
    'ImagePropertiesFilter',
    'does not support the image property hw_disk_bus=scsi',
    { imageProperties: ['hw_disk_bus=virtio'] },
    image({ hw_disk_bus: 'scsi' }),
  ],
] as const)('%s refuses a host that %s', (name, reason, state, wish) => {
  const selection = selectHosts(new HostTable([host('a', state)]), request(wish), scheduling)

  expect(selection.hosts).toEqual([])
  const refusals = selection.filters.filter(({ refused }) => refused > 0)
  expect(refusals).toEqual([
    { name, refused: 1, examples: [{ candidate: 'a', reason: expect.stringContaining(reason) }] },
  ])
})

test('servers are beside those they are to be beside, apart from those they are not, and where their volumes are', () => {
  const [a, b] = [host('a'), host('b')]
  const of = (wish: Partial<PlacementRequest>) =>
    selectHosts(new HostTable([a, b]), request(wish), scheduling).hosts.map(({ name }) => name)

  expect(of({ sameHosts: new Set([b.hostId]) })).toEqual(['b'])
  expect(of({ sameHosts: new Set() })).toEqual([])
  expect(of({ differentHosts: new Set([b.hostId]) })).toEqual(['a'])
  expect(of({ storeHosts: new Set([b.hostId]) })).toEqual(['b'])
  expect(of({ storeHosts: new Set() })).toEqual([])
  expect(of({ sameHosts: new Set([a.hostId]), differentHosts: new Set([a.hostId]) })).toEqual([])
})

test.each([
  [{ hypervisorType: 'KVM' }, image({ img_hv_type: 'qemu' })],
  [{ hypervisorType: 'KVM' }, image({ hypervisor_type: 'kvm' })],
  [{}, image({ architecture: 'amd64' })],
  [{}, image({ hypervisor_version_requires: '>=7.2, <8' })],
  [{ imageProperties: ['hw_disk_bus=virtio'] }, image({ hw_disk_bus: 'virtio' })],
  [{}, image({ hw_disk_bus: 'scsi' })],
  [{ simulated: true, hypervisorType: 'fake' }, image({ hypervisor_type: 'fake' })],
] as const)('a host %j takes an image %j', (state, wish) => {
  expect(
    selectHosts(new HostTable([host('a', state)]), request(wish), scheduling).hosts,
  ).toHaveLength(1)
})

test('hosts that have failed are not tried again', () => {
  const [a, b] = [host('a'), host('b')]

  const { hosts } = selectHosts(
    new HostTable([a, b]),
    request({ triedHosts: new Set([a.hostId]) }),
    scheduling,
  )

  expect(hosts).toEqual([b])
})

test('the emptiest host comes first, equal ones by name, with the parts of each score', () => {
  const busy = host('a', { used: { vcpus: 8, memoryMb: 512, diskGb: 50 }, instances: 3 })
  const hosts = [host('c'), busy, host('b')]

  const selection = selectHosts(new HostTable(hosts), request(), scheduling)

  expect(selection.scores).toEqual([
    { candidate: 'b', score: 3, parts: { ram: 1, cpu: 1, disk: 1 } },
    { candidate: 'c', score: 3, parts: { ram: 1, cpu: 1, disk: 1 } },
    { candidate: 'a', score: 0, parts: { ram: 0, cpu: 0, disk: 0 } },
  ])
})

test.each([
  ['soft-affinity', 'soft_affinity', ['b', 'c', 'a']],
  ['soft-anti-affinity', 'soft_anti_affinity', ['a', 'c', 'b']],
  ['affinity', 'soft_affinity', ['a', 'b', 'c']],
] as const)('a group of policy %s, weighed by %s, orders hosts %j', (policy, weigher, expected) => {
  const hosts = ['a', 'b', 'c'].map((name) => host(name))
  const members = new Map([
    [hosts[1]!.hostId, 3],
    [hosts[2]!.hostId, 1],
  ])
  const group = { id: 'g', policy, maxPerHost: 1, members } as PlacementRequest['group']
  const choice = { filters, filterSettings, weigherSettings, weights: { [weigher]: 1 } }
  const weighing = schedulingFrom({ ...choice, schedulingPolicy: 'filter' }, () => 0)
  const made = { ...weighing, filters: [] }

  expect(
    selectHosts(new HostTable(hosts), request({ group }), made).hosts.map(({ name }) => name),
  ).toEqual(expected)
  expect(selectHosts(new HostTable(hosts), request(), made).hosts.map(({ name }) => name)).toEqual([
    'a',
    'b',
    'c',
  ])
})

test.each([
  ['by name', (instances: number) => instances],
  ['against their names', (instances: number) => 99 - instances],
])('among more hosts than are tried the ten best remain, in order, %s', (_, numberOf) => {
  const nameOf = (instances: number) => `h${String(numberOf(instances)).padStart(2, '0')}`
  const used = (instances: number) => host(nameOf(instances), { instances })
  const fewest = schedulingFrom(
    {
      schedulingPolicy: 'filter',
      filters: [],
      filterSettings,
      weigherSettings,
      weights: { instances: 1 },
    },
    () => 0,
  )
  const best = Array.from({ length: 10 }, (_, index) => nameOf(index))
  const inOrder = Array.from({ length: 14 }, (_, index) => used(index))
  const mixed = [...inOrder.slice(7), ...inOrder.slice(0, 7)]

  const secondLast = [...inOrder.slice(0, 1), ...inOrder.slice(2), ...inOrder.slice(1, 2)]

  for (const hosts of [inOrder, inOrder.toReversed(), mixed, secondLast])
    expect(
      selectHosts(new HostTable(hosts), request(), fewest).hosts.map(({ name }) => name),
    ).toEqual(best)
})

test('of more equal hosts than are tried the first ten by name remain', () => {
  const hosts = Array.from({ length: 12 }, (_, index) => host(`h${10 + index}`))

  expect(
    selectHosts(new HostTable(hosts.toReversed()), request(), scheduling).hosts.map(
      ({ name }) => name,
    ),
  ).toEqual(hosts.slice(0, 10).map(({ name }) => name))
})

test('hosts of equal weight come by name, with a score of 0', () => {
  const { scores } = selectHosts(new HostTable([host('b'), host('a')]), request(), scheduling)

  expect(scores.map(({ candidate, score }) => [candidate, score])).toEqual([
    ['a', 0],
    ['b', 0],
  ])
})

test('hosts of equal scores and names stay in the order they came in', () => {
  const twins = [host('a'), host('a')]

  expect(selectHosts(new HostTable(twins), request(), scheduling).hosts).toEqual(twins)
})

test('three examples of each refusal are kept, and all are counted', () => {
  const down = ['a', 'b', 'c', 'd', 'e'].map((name) => host(name, { isUp: false }))

  const { filters: refusals } = selectHosts(new HostTable(down), request(), scheduling)

  const compute = refusals.find(({ name }) => name === 'ComputeFilter')
  expect(compute?.refused).toBe(5)
  expect(compute?.examples.map(({ candidate }) => candidate)).toEqual(['a', 'b', 'c'])
})

test('for any hosts, all selected ones fit, none is selected twice, and every host is counted', () => {
  const amount = fc.integer({ min: 0, max: 20 })
  const resources = fc.record({ vcpus: amount, memoryMb: amount, diskGb: amount })
  const anyHost = fc.record({ limits: resources, used: resources, isUp: fc.boolean() })
  fc.assert(
    fc.property(fc.array(anyHost, { maxLength: 40 }), resources, (states, wish) => {
      const hosts = states.map((state, index) => host(`h${index}`, state))

      const selection = selectHosts(new HostTable(hosts), request({ resources: wish }), scheduling)

      const fits = ({ isUp, limits, used }: HostState) =>
        isUp &&
        wish.vcpus <= limits.vcpus - used.vcpus &&
        wish.memoryMb <= limits.memoryMb - used.memoryMb &&
        wish.diskGb <= limits.diskGb - used.diskGb
      const fitting = hosts.filter(fits)
      expect(selection.hosts.every(fits)).toBe(true)
      expect(selection.hosts).toHaveLength(Math.min(fitting.length, 10))
      expect(new Set(selection.hosts).size).toBe(selection.hosts.length)
      const refused = selection.filters.reduce((sum, filter) => sum + filter.refused, 0)
      expect(refused + fitting.length).toBe(hosts.length)
      const scores = selection.scores.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    }),
  )
})

test('a filter that throws refuses the host, says why, and fails no boot', () => {
  const broken = {
    name: 'BrokenFilter',
    refuse: ({ name }: HostState) => {
      if (name === 'a') throw new Error('no such aggregate')
      return undefined
    },
  }
  const among = { ...scheduling, filters: [broken] }

  const {
    hosts,
    filters: judged,
    errors,
  } = selectHosts(new HostTable([host('a'), host('b')]), request(), among)

  expect(hosts.map(({ name }) => name)).toEqual(['b'])
  const reason = 'could not be judged: BrokenFilter failed with "no such aggregate"'
  const examples = [{ candidate: 'a', reason }]
  expect(judged).toEqual([{ name: 'BrokenFilter', refused: 1, examples }])
  expect([...errors.keys()]).toEqual(['BrokenFilter'])
})
