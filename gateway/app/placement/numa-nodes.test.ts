import { expect, test } from 'vitest'
import { type CellId, newId } from '#common/ids.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import type { Consumer } from '../../db/allocations.ts'
import { heldOfEach } from './held.ts'
import { spread } from './numa-nodes.ts'
import { type ProviderTree, providersOf } from './provider.ts'

const node = (id: number) => ({
  ...{ id, cpus: 5, dedicatedCpus: 1, memoryMb: 8_192 },
  pages: { 2048: 100 },
})
const used = { vcpus: 0, memoryMb: 0, diskGb: 10, instances: 1 }
const ratios = { vcpus: 2, memoryMb: 1, diskGb: 1 }

function treeOf(change: Partial<HostView> = {}, offer: object = {}): ProviderTree {
  const { inventory, ...view } = sampleHost('host', { used, ratios, ...change })
  const resources = { PCPU: 2, CUSTOM_HUGEPAGE_MB: 400, CUSTOM_HUGEPAGE_2048K_MB: 400 }
  const devices = { CUSTOM_PCI_GPU: 1 }
  const of = {
    ...{ ...inventory!, numa: [node(0), node(1)], hasNumaProviders: true as const },
    ...{ resources: { ...resources, ...devices }, ...offer },
  }
  const record = { cellId: newId<CellId>(), serial: 1, createdAt: new Date(0) }
  return providersOf({ ...record, view: { ...view, inventory: of } }, [])
}

const usages = (tree: ProviderTree) =>
  tree.map(({ inventories }) =>
    Object.fromEntries([...inventories].map(([name, { used: amount }]) => [name, amount])),
  )

test('a node has what is its own, and the host the rest', () => {
  const [root, devices, first, second] = treeOf(
    {},
    { reserved: { vcpus: 1, memoryMb: 0, diskGb: 0 } },
  )

  expect([...root.inventories.keys()]).toEqual(['DISK_GB'])
  expect(devices?.name).toBe('host.example_CUSTOM_PCI_GPU')
  expect(first).toMatchObject({
    ...{
      name: 'host.example_NUMA_0',
      parentId: root.id,
      rootId: root.id,
      traits: ['HW_NUMA_ROOT'],
    },
  })
  expect(first?.id).not.toBe(second?.id)
  expect(first?.inventories.get('VCPU')).toEqual({
    ...{ total: 4, reserved: 0, allocationRatio: 2, capacity: 8, used: 0 },
    ...{ minUnit: 1, maxUnit: 4, stepSize: 1 },
  })
  expect(second?.inventories.get('VCPU')).toMatchObject({ reserved: 1, capacity: 6 })
  expect(second?.inventories.get('MEMORY_MB')).toMatchObject({ total: 8_192, allocationRatio: 1 })
  expect(second?.inventories.get('PCPU')).toMatchObject({ total: 1, capacity: 1 })
  expect(second?.inventories.get('CUSTOM_HUGEPAGE_2048K_MB')).toMatchObject({
    ...{ total: 200, minUnit: 2, stepSize: 2 },
  })
})

test('a host that does not report its nodes to Placement has all itself', () => {
  const tree = treeOf({}, { hasNumaProviders: undefined })
  expect(tree).toHaveLength(2)
  expect([...tree[0].inventories.keys()]).toContain('VCPU')
  expect(treeOf({}, { numa: [] })[0].inventories.has('PCPU')).toBe(true)
})

test('what no node was chosen for is where the nodes have room', () => {
  const custom = { NUMA_1_VCPU: 3, NUMA_0_MEMORY_MB: 8_000, NUMA_1_PCPU: 1, PCPU: 2 }
  const [, , first, second] = usages(
    treeOf({ used: { ...used, vcpus: 12, memoryMb: 9_000, custom } }),
  )
  expect(first).toMatchObject({ VCPU: 8, MEMORY_MB: 8_192, PCPU: 1 })
  expect(second).toMatchObject({ VCPU: 4, MEMORY_MB: 808, PCPU: 1 })
})

test('an amount without room is on the last', () => {
  expect(spread(5, [2, 1, 0])).toEqual([2, 1, 2])
  expect(spread(5, [-1, 9])).toEqual([0, 5])
  expect(spread(-1, [1])).toEqual([0])
})

function consumer(vcpus: number, memoryMb: number, numa: NumaAllocation | null): Consumer {
  const flavor = { id: '1', name: 'm1', vcpus, memoryMb, rootGb: 1, ephemeralGb: 0, swapMb: 0 }
  return {
    ...{
      id: newId(),
      type: 'INSTANCE' as const,
      held: null,
      hostId: newId(),
      projectId: 'p',
      userId: 'u',
      version: 1,
    },
    ...{ flavor: { ...flavor, extraSpecs: {} }, numa },
  }
}
const takenBy = ({ flavor }: Consumer) => ({
  ...{ VCPU: flavor.vcpus, MEMORY_MB: flavor.memoryMb, DISK_GB: flavor.rootGb },
})

test('what consumers hold adds up to what nodes show as used', () => {
  const chosen = { vcpus: [1, 1, 1], resources: { 1: { VCPU: 3, MEMORY_MB: 100 } } }
  const consumers = [consumer(6, 8_000, null), consumer(3, 100, chosen), consumer(4, 400, null)]
  const custom = { NUMA_1_VCPU: 3, NUMA_1_MEMORY_MB: 100 }
  const tree = treeOf({ used: { ...used, vcpus: 13, memoryMb: 8_500, diskGb: 3, custom } })
  const held = [...heldOfEach(consumers, tree, takenBy).values()].map((by) =>
    Object.fromEntries([...by].map(([{ numaNode = 'host' }, amounts]) => [numaNode, amounts])),
  )

  expect(held).toEqual([
    { host: { DISK_GB: 1 }, 0: { VCPU: 6, MEMORY_MB: 8_000 } },
    { host: { DISK_GB: 1 }, 1: { VCPU: 3, MEMORY_MB: 100 } },
    { host: { DISK_GB: 1 }, 0: { VCPU: 2, MEMORY_MB: 192 }, 1: { VCPU: 2, MEMORY_MB: 208 } },
  ])
  const [, , first, second] = usages(tree)
  expect(first).toMatchObject({ VCPU: 8, MEMORY_MB: 8_192 })
  expect(second).toMatchObject({ VCPU: 5, MEMORY_MB: 308 })
})

test('a server of a host that reports no nodes any more holds all of the host', () => {
  const chosen = { vcpus: [1], resources: { 1: { VCPU: 1, MEMORY_MB: 64 } } }
  const tree = treeOf({}, { hasNumaProviders: undefined })
  const [held] = heldOfEach([consumer(1, 64, chosen)], tree, takenBy).values()
  expect([...held!]).toEqual([[tree[0], { VCPU: 1, MEMORY_MB: 64, DISK_GB: 1 }]])
})
