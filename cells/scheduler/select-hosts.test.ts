import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import { FILTERS } from './filters.ts'
import type { HostState } from './host-state.ts'
import type { PlacementRequest } from './placement-request.ts'
import { schedulingFrom } from './scheduling-from.ts'
import { selectHosts } from './select-hosts.ts'

const filters = FILTERS.map(({ name }) => name)
const weights = { ram: 1, cpu: 1, disk: 1, instances: 0 }
const scheduling = schedulingFrom({ schedulingPolicy: 'filter', filters, weights }, () => 0)

function host(name: string, change: Partial<HostState> = {}): HostState {
  return {
    hostId: newId<HostId>(),
    name,
    zone: 'nova',
    isUp: true,
    isDisabled: false,
    simulated: false,
    filtersPorts: true,
    hypervisorType: 'QEMU',
    hypervisorHostname: name,
    architecture: 'x86_64',
    imageFormats: ['qcow2', 'raw'],
    limits: { vcpus: 16, memoryMb: 1_024, diskGb: 100 },
    used: { vcpus: 0, memoryMb: 0, diskGb: 0 },
    instances: 0,
    aggregates: [],
    ...change,
  }
}

function request(change: Partial<PlacementRequest> = {}): PlacementRequest {
  return {
    resources: { vcpus: 1, memoryMb: 128, diskGb: 1 },
    image: { diskFormat: 'qcow2', properties: {} },
    extraSpecs: {},
    projectId: 'blue',
    needsFirewall: false,
    zone: null,
    requestedHost: null,
    triedHosts: new Set(),
    group: null,
    besideHosts: null,
    apartHosts: new Set(),
    ...change,
  }
}

const image = (properties: Record<string, string>, diskFormat = 'qcow2') => ({
  image: { diskFormat, properties },
})
const full = { vcpus: 16, memoryMb: 1_024, diskGb: 100 }

test.each([
  ['ComputeFilter', 'is down', { isUp: false }, {}],
  ['ComputeFilter', 'is disabled', { isDisabled: true }, {}],
  [
    'SecurityGroupFilter',
    'gives no effect to security groups',
    { filtersPorts: false },
    { needsFirewall: true },
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
] as const)('%s refuses a host that %s', (name, reason, state, wish) => {
  const selection = selectHosts([host('a', state)], request(wish), scheduling)

  expect(selection.hosts).toEqual([])
  const refusals = selection.filters.filter(({ refused }) => refused > 0)
  expect(refusals).toEqual([
    { name, refused: 1, examples: [{ candidate: 'a', reason: expect.stringContaining(reason) }] },
  ])
})

test('servers are beside those they are to be beside, and apart from those they are not', () => {
  const [a, b] = [host('a'), host('b')]
  const of = (wish: Partial<PlacementRequest>) =>
    selectHosts([a, b], request(wish), scheduling).hosts.map(({ name }) => name)

  expect(of({ besideHosts: new Set([b.hostId]) })).toEqual(['b'])
  expect(of({ besideHosts: new Set() })).toEqual([])
  expect(of({ apartHosts: new Set([b.hostId]) })).toEqual(['a'])
  expect(of({ besideHosts: new Set([a.hostId]), apartHosts: new Set([a.hostId]) })).toEqual([])
})

test.each([
  [{ hypervisorType: 'KVM' }, image({ img_hv_type: 'qemu' })],
  [{ hypervisorType: 'KVM' }, image({ hypervisor_type: 'kvm' })],
  [{}, image({ architecture: 'amd64' })],
  [{ simulated: true, hypervisorType: 'fake' }, image({ hypervisor_type: 'fake' })],
] as const)('a host %j takes an image %j', (state, wish) => {
  expect(selectHosts([host('a', state)], request(wish), scheduling).hosts).toHaveLength(1)
})

test('hosts that have failed are not tried again', () => {
  const [a, b] = [host('a'), host('b')]

  const { hosts } = selectHosts([a, b], request({ triedHosts: new Set([a.hostId]) }), scheduling)

  expect(hosts).toEqual([b])
})

test('the emptiest host comes first, equal ones by name, with the parts of each score', () => {
  const busy = host('a', { used: { vcpus: 8, memoryMb: 512, diskGb: 50 }, instances: 3 })
  const hosts = [host('c'), busy, host('b')]

  const selection = selectHosts(hosts, request(), scheduling)

  expect(selection.scores).toEqual([
    { candidate: 'b', score: 3, parts: { ram: 1, cpu: 1, disk: 1 } },
    { candidate: 'c', score: 3, parts: { ram: 1, cpu: 1, disk: 1 } },
    { candidate: 'a', score: 0, parts: { ram: 0, cpu: 0, disk: 0 } },
  ])
})

test('weights and policies are configuration', () => {
  const busy = host('busy', { used: { vcpus: 8, memoryMb: 512, diskGb: 50 }, instances: 3 })
  const idle = host('idle')
  const first = (choice: Partial<Parameters<typeof schedulingFrom>[0]>, random = () => 0) => {
    const made = schedulingFrom({ schedulingPolicy: 'filter', filters, weights, ...choice }, random)
    return selectHosts([busy, idle], request(), made).hosts[0]?.name
  }

  expect(first({ weights: { ram: -1 } })).toBe('busy')
  expect(first({ weights: { instances: 1 } })).toBe('idle')
  expect(first({ schedulingPolicy: 'simple' })).toBe('idle')
  const numbers = [0.9, 0.1]
  expect(first({ schedulingPolicy: 'chance' }, () => numbers.shift() ?? 0)).toBe('busy')
  expect(() => first({ filters: ['NoSuchFilter'] })).toThrow("There is no filter 'NoSuchFilter'")
})

test('whatever the hosts, all selected fit, none is selected twice, and nobody is lost from the count', () => {
  const amount = fc.integer({ min: 0, max: 20 })
  const resources = fc.record({ vcpus: amount, memoryMb: amount, diskGb: amount })
  const anyHost = fc.record({ limits: resources, used: resources, isUp: fc.boolean() })
  fc.assert(
    fc.property(fc.array(anyHost, { maxLength: 40 }), resources, (states, wish) => {
      const hosts = states.map((state, index) => host(`h${index}`, state))

      const selection = selectHosts(hosts, request({ resources: wish }), scheduling)

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

  const { hosts, filters: judged, errors } = selectHosts([host('a'), host('b')], request(), among)

  expect(hosts.map(({ name }) => name)).toEqual(['b'])
  const reason = 'could not be judged: BrokenFilter failed with "no such aggregate"'
  const examples = [{ candidate: 'a', reason }]
  expect(judged).toEqual([{ name: 'BrokenFilter', refused: 1, examples }])
  expect([...errors.keys()]).toEqual(['BrokenFilter'])
})
