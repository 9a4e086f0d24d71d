import { expect, test } from 'vitest'
import type { NumaNode, NumaRequest } from '#common/numa.ts'
import type { HostState } from '../host-state.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { numaTopologyFilter } from './numa-topology.ts'

const node = (change: Partial<NumaNode> = {}) => ({
  ...{ id: 0, cpus: 4, dedicatedCpus: 2, memoryMb: 1_000, pages: { 2_048: 100 } },
  ...change,
})
const part = (cpus: number, memoryMb = 10) => ({
  vcpus: Array.from({ length: cpus }, (_, vcpu) => vcpu),
  memoryMb,
})
const asked = (parts: NumaRequest['parts'], change: Partial<NumaRequest> = {}): NumaRequest => ({
  ...{ parts, isDedicated: false, page: null },
  ...change,
})
const refusal = (wanted: NumaRequest | null, numa: HostState['numa'] = [node(), node()]) => {
  const request = placementRequest({ numa: wanted })
  return numaTopologyFilter.refuse(hostState('a', { numa }), request, FILTER_SETTINGS)
}

test('each part is within a node of its own, up to all of its CPUs and memory', () => {
  expect(refusal(asked([part(4, 1_000), part(4, 1_000)]))).toBeUndefined()
  expect(refusal(asked([part(5)]))).toBe('has 2 NUMA nodes, no 1 of them with 5 CPUs and 10 MiB')
  expect(refusal(asked([part(1, 1_001)]))).toContain('1 CPUs and 1001 MiB')
  expect(refusal(asked([part(1), part(1), part(1)]))).toContain('no 3 of them')
  expect(refusal(asked([part(5, 9), part(6, 8)]))).toContain('with 6 CPUs and 9 MiB')
})

test('CPUs of its own are dedicated ones', () => {
  const own = { isDedicated: true }
  expect(refusal(asked([part(2), part(2)], own))).toBeUndefined()
  expect(refusal(asked([part(3)], own))).toContain('3 dedicated CPUs')
})

test('large pages are those of one size, of which each node has enough', () => {
  const large = { page: 'large' } as const
  expect(refusal(asked([part(1, 200)], large))).toBeUndefined()
  expect(refusal(asked([part(1, 201)], large))).toBe(
    'has 2 NUMA nodes, no 1 of them with 1 CPUs and 201 MiB in large pages',
  )
  const gigabytes = [node({ pages: { 2_048: 1, 1_048_576: 1 } })]
  expect(refusal(asked([part(1, 1_024)], large), gigabytes)).toBeUndefined()
  expect(refusal(asked([part(1, 2)], { page: { kib: 2_048 } }), gigabytes)).toBeUndefined()
  expect(refusal(asked([part(1, 3)], { page: { kib: 2_048 } }), gigabytes)).toContain(
    '3 MiB in 2048 KiB pages',
  )
  expect(refusal(asked([part(1, 2)], { page: { kib: 64 } }))).toContain('64 KiB pages')
  // A guest in large pages has no other memory.
  expect(refusal(asked([part(1, 200)], large), [node({ memoryMb: 1 })])).toBeUndefined()
})

test('hosts that do not say, and servers that do not ask, pass', () => {
  expect(refusal(asked([part(64)]), null)).toBeUndefined()
  expect(refusal(null)).toBeUndefined()
  expect(refusal(asked([part(1)]), [])).toContain('has 0 NUMA nodes')
  // The image of a rebuild may ask for other nodes (OSSA-2017-005).
  expect(numaTopologyFilter.runsOnRebuild).toBe(true)
  expect(numaTopologyFilter.concerns?.(placementRequest())).toBe(false)
  expect(numaTopologyFilter.concerns?.(placementRequest({ numa: asked([]) }))).toBe(true)
})
