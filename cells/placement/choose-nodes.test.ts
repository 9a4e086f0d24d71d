import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleBuild } from '#test/env/sample-build.ts'
import {
  allocationAt,
  allocationBound,
  allocationHeld,
  chooseNodes,
  freeOfNodes,
  nodeResources,
  withNodes,
} from './choose-nodes.ts'
import { nodeWish } from './node-wish.ts'

type Texts = Readonly<Record<string, string>>

const wish = (extraSpecs: Texts, size = {}, properties: Texts = {}) => {
  const build = sampleBuild()
  const flavor = { ...build.flavor, vcpus: 4, memoryMb: 100, ...size, extraSpecs }
  return nodeWish({ flavor, image: { ...build.image, properties } })
}
const free = (...nodes: Readonly<Record<string, number>>[]) =>
  new Map(nodes.map((amounts, id) => [id, { free: amounts, maxUnits: {} }]))
const DEDICATED = { 'hw:cpu_policy': 'dedicated' }

describe('what a server takes of nodes', () => {
  test('is nothing for one that may be anywhere', () => {
    expect(wish({})).toBeNull()
    expect(wish({ 'hw:mem_page_size': 'small' })).toBeNull()
    // Its host refuses it.
    expect(wish({ 'resources:PCPU': '3' })).toBeNull()
  })

  test('is a share of what it takes of its host', () => {
    expect(wish({ 'hw:numa_nodes': '3' }, { memoryMb: 101 })?.parts).toEqual([
      { vcpus: [0], amounts: { VCPU: 1, MEMORY_MB: 33 } },
      { vcpus: [1], amounts: { VCPU: 1, MEMORY_MB: 34 } },
      { vcpus: [2, 3], amounts: { VCPU: 2, MEMORY_MB: 34 } },
    ])
    expect(wish({ 'hw:numa_nodes': '2', 'resources:VCPU': '0' })?.parts[0]?.amounts).toEqual({
      MEMORY_MB: 50,
    })
    expect(wish({}, {}, { hw_numa_nodes: '1' })?.parts[0]?.amounts).toEqual({
      ...{ VCPU: 4, MEMORY_MB: 100 },
    })
    expect(wish({ 'hw:numa_nodes': '2', ...DEDICATED })?.parts[1]?.amounts).toEqual({
      ...{ PCPU: 2, MEMORY_MB: 50 },
    })
  })

  test('is whole pages of each node', () => {
    const size = { memoryMb: 6 }
    const pages = { CUSTOM_HUGEPAGE_MB: 4, CUSTOM_HUGEPAGE_2048K_MB: 4 }
    expect(
      wish({ 'hw:numa_nodes': '2', 'hw:mem_page_size': '2MB' }, size)?.parts[0]?.amounts,
    ).toEqual({ VCPU: 2, MEMORY_MB: 3, ...pages })
    const others = {
      'resources:CUSTOM_A_CUSTOM_HUGEPAGE_4K_MB': '1',
      'resources:CUSTOM_HUGEPAGE_4K_MB_B': '1',
    }
    for (const further of [{}, others])
      expect(wish({ 'hw:mem_page_size': 'large', ...further }, size)?.parts[0]?.amounts).toEqual({
        ...{ VCPU: 4, MEMORY_MB: 6, CUSTOM_HUGEPAGE_MB: 6 },
      })
  })

  test('is dedicated CPUs, of any nodes, for one that sees no nodes', () => {
    expect(wish(DEDICATED)).toEqual({
      parts: [{ vcpus: [0, 1, 2, 3], amounts: { PCPU: 4 } }],
      isDivisible: true,
    })
  })
})

describe('the nodes of a server', () => {
  const one = wish({ 'hw:numa_nodes': '1' }, { vcpus: 2, memoryMb: 10 })!
  const two = wish({ 'hw:numa_nodes': '2' }, { vcpus: 3, memoryMb: 10 })!

  test('are the fullest that have room', () => {
    const nodes = free(
      { VCPU: 9, MEMORY_MB: 10 },
      { VCPU: 1, MEMORY_MB: 99 },
      { VCPU: 2, MEMORY_MB: 10 },
    )
    expect(chooseNodes(one, nodes)).toEqual({
      vcpus: [2, 2],
      resources: { 2: { VCPU: 2, MEMORY_MB: 10 } },
    })
    expect(
      chooseNodes(one, free({ VCPU: 2, MEMORY_MB: 9 }, { VCPU: 1, MEMORY_MB: 10 })),
    ).toBeUndefined()
    expect(chooseNodes(one, free({ VCPU: 2, MEMORY_MB: 10 }))?.vcpus).toEqual([0, 0])
    expect(chooseNodes(one, free())).toBeUndefined()
  })

  test('are compared by each class that is asked for, and then by their numbers', () => {
    const alike = { VCPU: 4, MEMORY_MB: 20 }
    expect(chooseNodes(one, free({ ...alike, MEMORY_MB: 99 }, alike))?.vcpus).toEqual([1, 1])
    const room = { free: alike, maxUnits: {} }
    const backwards = new Map([1, 0].map((id) => [id, room]))
    expect(chooseNodes(one, backwards)?.vcpus).toEqual([0, 0])
  })

  test('have all of a part that is not divisible, and none of a server without parts', () => {
    expect(chooseNodes(one, free({ PCPU: 9 }))).toBeUndefined()
    const nothing = { parts: [], isDivisible: true }
    expect(chooseNodes(nothing, free({ PCPU: 9 }))).toEqual({ vcpus: [], resources: {} })
  })

  test('are different for each part, whichever order finds them', () => {
    // The first part alone would take the only node that the second fits.
    const nodes = free({ VCPU: 2, MEMORY_MB: 5 }, { VCPU: 1, MEMORY_MB: 9 })
    expect(chooseNodes(two, nodes)?.vcpus).toEqual([1, 0, 0])
    expect(chooseNodes(two, free({ VCPU: 9, MEMORY_MB: 99 }))).toBeUndefined()
  })

  test('are as few as have the dedicated CPUs', () => {
    const pinned = wish(DEDICATED)!
    expect(chooseNodes(pinned, free({ PCPU: 9 }, { PCPU: 4 }))?.vcpus).toEqual([1, 1, 1, 1])
    expect(chooseNodes(pinned, free({ PCPU: 1 }, { PCPU: 2 }, { PCPU: 3 }))).toEqual({
      vcpus: [2, 2, 2, 1],
      resources: { 1: { PCPU: 1 }, 2: { PCPU: 3 } },
    })
    expect(chooseNodes(pinned, free({ PCPU: 1 }, { PCPU: 3 }))?.vcpus).toEqual([1, 1, 1, 0])
    expect(chooseNodes(pinned, free({ PCPU: 1 }, { PCPU: -1 }, { PCPU: 2 }))).toBeUndefined()
  })

  test('have what is left of the classes that are counted', () => {
    const limits = { custom: { NUMA_0_VCPU: 4, NUMA_1_VCPU: 4, NUMA_7_VCPU: 4, PCPU: 2 } }
    const used = { custom: { NUMA_0_VCPU: 1, NUMA_1_VCPU: 5, PCPU: 1 } }
    const nodes = [0, 1].map((id) => ({ id, maxUnits: {} }))
    expect(freeOfNodes(nodes, { limits, used })).toEqual(free({ VCPU: 3 }, { VCPU: -1 }))
    expect(freeOfNodes(nodes, { limits, used: {} })).toEqual(free({ VCPU: 4 }, { VCPU: 4 }))
  })

  test('have as much as the server takes, however often they promise it', () => {
    const limits = { custom: { NUMA_0_VCPU: 64, NUMA_1_VCPU: 64 } }
    const nodes = (...sizes: readonly number[]) =>
      freeOfNodes(
        sizes.map((VCPU, id) => ({ id, maxUnits: { VCPU } })),
        { limits, used: { custom: { NUMA_0_VCPU: 9 } } },
      )
    const cpus = { parts: [{ vcpus: [0, 1, 2], amounts: { VCPU: 3 } }], isDivisible: false }
    expect(chooseNodes(cpus, nodes(3, 3))?.vcpus).toEqual([0, 0, 0])
    expect(chooseNodes(cpus, nodes(2, 3))?.vcpus).toEqual([1, 1, 1])
    expect(chooseNodes(cpus, nodes(2, 2))).toBeUndefined()
  })

  test('are found again in what is held', () => {
    const sizes = fc.record({
      nodes: fc.integer({ min: 1, max: 4 }),
      vcpus: fc.integer({ min: 4, max: 9 }),
      memoryMb: fc.integer({ min: 4, max: 99 }),
      dedicated: fc.boolean(),
      seen: fc.boolean(),
    })
    const room = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(sizes, room, ({ nodes, dedicated, seen, ...size }, cpus) => {
        const specs = {
          ...(dedicated && DEDICATED),
          ...(seen && { 'hw:numa_nodes': String(nodes) }),
        }
        const asked = wish(specs, size)
        if (asked === null) return
        const all = free(...cpus.map((cpu) => ({ VCPU: cpu, PCPU: cpu, MEMORY_MB: 60 })))
        const chosen = chooseNodes(asked, all)
        if (chosen === undefined) return
        const rows = Object.entries(nodeResources(chosen).custom!).map(([name, used]) => ({
          resource_class: name,
          used,
        }))
        expect(allocationHeld(asked, rows)?.resources).toEqual(chosen.resources)
        expect(allocationAt(asked, chosen.vcpus)).toEqual(chosen)
        for (const [node, amounts] of Object.entries(chosen.resources))
          for (const [name, amount] of Object.entries(amounts))
            expect(amount).toBeLessThanOrEqual(
              (all.get(Number(node))!.free as Record<string, number>)[name]!,
            )
      }),
    )
    expect(allocationHeld(one, [{ resource_class: 'VCPU', used: 2 }])).toBeUndefined()
    expect(allocationHeld(null, [])).toBeUndefined()
    expect(allocationHeld(wish(DEDICATED), [])).toBeUndefined()
    expect(allocationHeld(null, [{ resource_class: 'NUMA_0_VCPU', used: 2 }])).toBeUndefined()
  })

  test('are those that a host says only if the server asks for such', () => {
    expect(allocationAt(two, [1, 0, 0])?.resources).toEqual({
      0: { VCPU: 2, MEMORY_MB: 5 },
      1: { VCPU: 1, MEMORY_MB: 5 },
    })
    for (const vcpus of [
      [0, 0, 0],
      [0, 1, 0],
      [0, 1],
      [0, 1, 1, 1],
    ])
      expect(allocationAt(two, vcpus)).toBeUndefined()
  })

  test('are those on which a host says that its guest is bound, with what it takes of the host', () => {
    const pages = { CUSTOM_HUGEPAGE_MB: 8, CUSTOM_HUGEPAGE_2048K_MB: 8 }
    const taken = { vcpus: 4, memoryMb: 100, diskGb: 9 }

    expect(
      allocationBound({ ...taken, custom: { PCPU: 4, ...pages, CUSTOM_GOLD: 4 } }, [1, 0, 1, 1]),
    ).toEqual({
      vcpus: [1, 0, 1, 1],
      resources: {
        0: { VCPU: 1, MEMORY_MB: 25, PCPU: 1, CUSTOM_HUGEPAGE_MB: 2, CUSTOM_HUGEPAGE_2048K_MB: 2 },
        1: { VCPU: 3, MEMORY_MB: 75, PCPU: 3, CUSTOM_HUGEPAGE_MB: 6, CUSTOM_HUGEPAGE_2048K_MB: 6 },
      },
    })
    // A node has no share of what is less than the nodes.
    const { resources } = allocationBound({ ...taken, custom: { PCPU: 1 } }, [0, 1])
    const shares = Object.values(resources).map((amounts) => amounts['PCPU'])
    expect(new Set(shares)).toEqual(new Set([1, undefined]))
    expect(allocationBound(taken, [2]).resources).toEqual({ 2: { VCPU: 4, MEMORY_MB: 100 } })
  })

  test('are claimed with the rest', () => {
    const resources = { vcpus: 2, memoryMb: 10, diskGb: 1 }
    expect(withNodes(resources, undefined)).toBe(resources)
    expect(withNodes(resources, allocationAt(one, [1, 1]))).toEqual({
      ...resources,
      custom: { NUMA_1_VCPU: 2, NUMA_1_MEMORY_MB: 10 },
    })
  })
})
