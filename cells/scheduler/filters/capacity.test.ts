import { describe, expect, test } from 'vitest'
import type { HostState } from '../host-state.ts'
import type { PlacementRequest } from '../placement-request.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '../testing.ts'
import { resourceClassFilter } from './capacity.ts'

const refusal = (state: Partial<HostState>, request: Partial<PlacementRequest>) =>
  resourceClassFilter.refuse(hostState('a', state), placementRequest(request), FILTER_SETTINGS)

describe('ResourceClassFilter', () => {
  const nothing = { vcpus: 0, memoryMb: 0, diskGb: 0 }
  const has = (total: number, used: number) => ({
    limits: { ...nothing, custom: { CUSTOM_GOLD: total } },
    used: { ...nothing, custom: { CUSTOM_GOLD: used } },
  })
  const wants = (custom: Record<string, number>) => ({ resources: { ...nothing, custom } })

  test('lets exactly the free amount pass and refuses one more', () => {
    expect(refusal(has(3, 1), wants({ CUSTOM_GOLD: 2 }))).toBeUndefined()
    expect(refusal(has(3, 1), wants({ CUSTOM_GOLD: 3 }))).toBe(
      'has 2 CUSTOM_GOLD free, 3 are needed',
    )
  })

  test('refuses a class that the host does not have, and says 0 of one that is overused', () => {
    expect(refusal({}, wants({ CUSTOM_TIN: 1 }))).toBe('has 0 CUSTOM_TIN free, 1 are needed')
    expect(refusal(has(3, 1), wants({ CUSTOM_TIN: 1 }))).toBe('has 0 CUSTOM_TIN free, 1 are needed')
    expect(refusal(has(1, 2), wants({ CUSTOM_GOLD: 1 }))).toBe(
      'has 0 CUSTOM_GOLD free, 1 are needed',
    )
  })

  test('gives a server one machine, and large pages whole', () => {
    const machines = { ...has(3, 0), isOfMachines: true }
    expect(refusal(machines, wants({ CUSTOM_GOLD: 1 }))).toBeUndefined()
    expect(refusal(machines, wants({ CUSTOM_GOLD: 2 }))).toBe(
      'gives a server one CUSTOM_GOLD, 2 are needed',
    )
    const limits = { ...nothing, custom: { CUSTOM_HUGEPAGE_2048K_MB: 8, CUSTOM_HUGEPAGE_MB: 8 } }
    const pages = (amount: number) => wants({ CUSTOM_HUGEPAGE_2048K_MB: amount })
    expect(refusal({ limits }, pages(4))).toBeUndefined()
    expect(refusal({ limits }, pages(3))).toBe('gives CUSTOM_HUGEPAGE_2048K_MB by 2, 3 are needed')
    expect(refusal({ limits }, wants({ CUSTOM_HUGEPAGE_MB: 3 }))).toBeUndefined()
  })

  test('asks of hosts that count what their NUMA nodes have whether these have room', () => {
    const custom = (first: number, second: number) => ({ NUMA_0_VCPU: first, NUMA_2_VCPU: second })
    const used = { ...nothing, custom: custom(3, 1) }
    const countedNodes = [0, 2].map((id) => ({ id, maxUnits: { VCPU: 4 } }))
    const host = { countedNodes, limits: { ...nothing, custom: custom(4, 4) }, used }
    const part = (vcpus: readonly number[]) => ({ vcpus, amounts: { VCPU: vcpus.length } })
    const one = { nodes: { parts: [part([0, 1, 2])], isDivisible: false } }
    const two = { nodes: { parts: [part([0, 1]), part([2, 3])], isDivisible: false } }

    expect(refusal(host, one)).toBeUndefined()
    expect(refusal(host, two)).toBe('has no 2 NUMA nodes with 2 VCPU free')
    expect(refusal({ ...host, countedNodes: [] }, two)).toBeUndefined()
    expect(refusal(host, {})).toBeUndefined()
    const cpus = { vcpus: [0, 1, 2], amounts: { PCPU: 3 } }
    expect(refusal(host, { nodes: { parts: [cpus], isDivisible: true } })).toBe(
      'has NUMA nodes with less than 3 PCPU free together',
    )
    expect(resourceClassFilter.concerns?.(placementRequest(one))).toBe(true)
    expect(resourceClassFilter.concerns?.(placementRequest())).toBe(false)
  })

  test('looks at every class that is asked for', () => {
    const both = wants({ CUSTOM_GOLD: 1, CUSTOM_TIN: 1 })

    expect(refusal(has(3, 0), both)).toBe('has 0 CUSTOM_TIN free, 1 are needed')
  })
})
