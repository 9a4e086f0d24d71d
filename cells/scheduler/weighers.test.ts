import { expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { HostState } from './host-state.ts'
import { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import { hostState, placementRequest, WEIGHER_SETTINGS } from './testing.ts'
import type { WeigherSettings } from './weigher.ts'
import { WEIGHERS } from './weighers.ts'

/** The numbers that a weigher gives hosts in these states; undefined: it makes no difference. */
function scores(
  name: string,
  states: readonly Partial<HostState>[],
  request: Partial<PlacementRequest> = {},
  settings: Partial<WeigherSettings> = {},
): readonly number[] | undefined {
  const { column } = WEIGHERS.find((each) => each.name === name)!
  const hosts = states.map((state, nth) => hostState(`h${nth}`, state))
  const found = column(new HostTable(hosts), placementRequest(request), {
    ...WEIGHER_SETTINGS,
    ...settings,
  })
  return found && Array.from(found, (value) => value + 0)
}

const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
const devices = (total: number, taken = 0): Partial<HostState> => ({
  limits: { ...nothing, custom: { CUSTOM_PCI_GPU: total, PCPU: 9 } },
  used: { ...nothing, custom: { CUSTOM_PCI_GPU: taken } },
})

test('soft_affinity counts the servers of the group on each host, and soft_anti_affinity against them', () => {
  const [some, none] = [newId<HostId>(), newId<HostId>()]
  const of = (name: string, policy: string, members: readonly (readonly [HostId, number])[]) =>
    scores(name, [{ hostId: some }, { hostId: none }], {
      group: { id: 'g', policy, maxPerHost: 1, members: new Map(members) },
    } as Partial<PlacementRequest>)

  expect(of('soft_affinity', 'soft-affinity', [[some, 2]])).toEqual([2, 0])
  expect(of('soft_anti_affinity', 'soft-anti-affinity', [[some, 2]])).toEqual([-2, 0])
  for (const [name, policy] of [
    ['soft_affinity', 'soft-anti-affinity'],
    ['soft_anti_affinity', 'soft-affinity'],
    ['soft_affinity', 'affinity'],
  ] as const)
    expect(of(name, policy, [[some, 2]])).toBeUndefined()
  expect(of('soft_affinity', 'soft-affinity', [])).toBeUndefined()
  expect(scores('soft_affinity', [{}])).toBeUndefined()
})

test('io_ops prefers the host that has least to do', () => {
  expect(scores('io_ops', [{ ioOps: 2 }, { ioOps: 0 }])).toEqual([-2, 0])
})

test('pci prefers the most free devices for a server that needs some, and the fewest for others', () => {
  const hosts = [devices(4, 1), devices(1), {}]
  const wants = { resources: { ...nothing, custom: { CUSTOM_PCI_GPU: 1 } } }

  expect(scores('pci', hosts, wants)).toEqual([3, 1, 0])
  expect(scores('pci', hosts)).toEqual([-3, -1, 0])
  expect(scores('pci', hosts, { resources: { ...nothing, custom: { PCPU: 1 } } })).toEqual([
    -3, -1, 0,
  ])
  expect(scores('pci', [{ ...devices(2), used: nothing }, {}])).toEqual([-2, 0])
  expect(scores('pci', [{}, {}])).toBeUndefined()
})

test('build_failure prefers hosts on which fewer builds have failed', () => {
  expect(scores('build_failure', [{ buildFailures: 3 }, {}])).toEqual([-3, 0])
  expect(scores('build_failure', [{}, {}])).toBeUndefined()
})

test('hypervisor_version prefers newer hypervisors', () => {
  const [old, young] = [{ hypervisorVersion: 7_002_000 }, { hypervisorVersion: 8_000_000 }]

  expect(scores('hypervisor_version', [old, young, old])).toEqual([7_002_000, 8_000_000, 7_002_000])
  expect(scores('hypervisor_version', [old, old])).toBeUndefined()
})

test('metrics sums what an operator weighs, and says how much a host without one of them counts', () => {
  const metricWeights = { 'cpu.percent': -1, 'cpu.frequency': 0.5 }
  const hosts = [
    { metrics: { 'cpu.percent': 20, 'cpu.frequency': 3_000, 'cpu.idle.percent': 80 } },
    { metrics: { 'cpu.percent': 90, 'cpu.frequency': 2_000 } },
    { metrics: { 'cpu.percent': 0 } },
    { metrics: {} },
  ]

  const settings = { metricWeights, weightOfUnavailable: -7 }
  expect(scores('metrics', hosts, {}, settings)).toEqual([1_480, 910, -7, -7])
  expect(scores('metrics', hosts)).toBeUndefined()
})

test('image_props counts the servers of each host whose image has the properties of the request', () => {
  const uses = (...pairs: readonly (readonly [string, number])[]) => ({
    imagePropertyUses: new Map(pairs),
  })
  const hosts = [
    uses(['os_distro=debian', 3], ['hw_machine_type=q35', 1]),
    uses(['os_distro=debian', 1], ['os_distro=windows', 8]),
    uses(),
  ]
  const properties = { os_distro: 'debian', hw_machine_type: 'q35' }
  const image = { image: { diskFormat: 'qcow2', properties } }
  const of = (imagePropertyWeights: Record<string, number>) =>
    scores('image_props', hosts, image, { imagePropertyWeights })

  expect(of({})).toEqual([4, 1, 0])
  expect(of({ os_distro: 10 })).toEqual([30, 10, 0])
  expect(of({ os_distro: 10, hw_machine_type: -1 })).toEqual([29, 10, 0])
  expect(of({ os_distro: 0 })).toBeUndefined()
  expect(of({ os_type: 1 })).toBeUndefined()
  expect(scores('image_props', hosts)).toBeUndefined()
})
