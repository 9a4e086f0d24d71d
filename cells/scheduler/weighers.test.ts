import { expect, test } from 'vitest'
import type { HostState } from './host-state.ts'
import { HostTable } from './host-table.ts'
import type { PlacementRequest } from './placement-request.ts'
import { hostState, placementRequest } from './testing.ts'
import { WEIGHERS } from './weighers.ts'

/** The numbers that a weigher gives hosts in these states; undefined: it makes no difference. */
function scores(
  name: string,
  states: readonly Partial<HostState>[],
  request: Partial<PlacementRequest> = {},
): readonly number[] | undefined {
  const { column } = WEIGHERS.find((each) => each.name === name)!
  const hosts = states.map((state, nth) => hostState(`h${nth}`, state))
  const found = column(new HostTable(hosts), placementRequest(request))
  return found && Array.from(found, (value) => value + 0)
}

const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
const devices = (total: number, taken = 0): Partial<HostState> => ({
  limits: { ...nothing, custom: { CUSTOM_PCI_GPU: total, PCPU: 9 } },
  used: { ...nothing, custom: { CUSTOM_PCI_GPU: taken } },
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
