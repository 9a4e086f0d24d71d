import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Loose } from '#test/env/api/client.ts'
import { HALF, NOTHING, NumaCloud, type Provider, USED, WHOLE } from './numa-cloud.ts'

// Goal: NUMA nodes of hosts that report them to Placement are providers, servers hold what they take of the nodes that they
// are on, and no node gives more than it has.

let numa: NumaCloud

beforeAll(async () => {
  numa = await NumaCloud.start()
})

afterAll(() => numa?.[Symbol.asyncDispose]())

afterEach(() => numa.deleteAll())

describe('the tree of a host', () => {
  test('has a provider with what is its own for each node', async () => {
    const host = numa.cloud.hosts[0]!.name
    const [root, ...nodes] = await numa.treeOf(host)
    expect(nodes.map(({ name }) => name)).toEqual([`${host}_NUMA_0`, `${host}_NUMA_1`])
    for (const node of nodes)
      expect(node).toMatchObject({
        parent_provider_uuid: root.uuid,
        root_provider_uuid: root.uuid,
      })

    const inventoriesOf = async ({ uuid }: Provider) =>
      (await numa.placement(`/resource_providers/${uuid}/inventories`))['inventories'] as Loose
    expect(Object.keys(await inventoriesOf(root))).toEqual(['DISK_GB'])
    const [first, second] = [await inventoriesOf(nodes[0]!), await inventoriesOf(nodes[1]!)]
    expect(first).toMatchObject({ VCPU: { total: 3, allocation_ratio: 1 }, PCPU: { total: 2 } })
    // Of an odd amount one node has more; the host keeps a part for itself only once.
    expect([first, second].map((each) => (each['MEMORY_MB'] as Loose)['total'])).toEqual([512, 513])
    expect([first, second].map((each) => (each['MEMORY_MB'] as Loose)['reserved'])).toEqual([0, 1])

    const traits = await numa.placement(`/resource_providers/${nodes[0]!.uuid}/traits`)
    expect(traits['traits']).toEqual(['HW_NUMA_ROOT'])
    const given = { traits: ['HW_NUMA_ROOT'], resource_provider_generation: 1 }
    const path = `/placement/resource_providers/${nodes[0]!.uuid}/traits`
    const refused = await numa.admin.put<Loose>(path, given, { version: '1.39' })
    expect(refused.status).toBe(400)
    expect(JSON.stringify(refused.body)).toContain(`provider ${root.uuid}`)
    const named = await numa.providers('?required=HW_NUMA_ROOT')
    expect(named.map(({ name }) => name)).toContain(`${host}_NUMA_1`)
    expect(named).toHaveLength(4)
    // Lists of hypervisors show the host as it is.
    const { body } = await numa.admin.get<Loose>('/compute/v2.1/os-hypervisors/detail')
    expect((body['hypervisors'] as Loose[])[0]).toMatchObject({ vcpus: 10, memory_mb: 1_025 })
  })

  test('answers requests for candidates by nodes', async () => {
    const candidates = async (query: string) => {
      const { allocation_requests: found } = await numa.placement<{
        readonly allocation_requests: readonly { readonly allocations: object }[]
      }>(`/allocation_candidates?${query}`)
      return found.map(({ allocations }) => Object.keys(allocations).length)
    }
    const two = 'resources1=VCPU:1,MEMORY_MB:64&resources2=VCPU:1,MEMORY_MB:64'
    expect(await candidates(`resources=DISK_GB:1&${two}&group_policy=isolate`)).toEqual(
      // The two groups on either node, on each of the hosts.
      [3, 3, 3, 3],
    )
    expect(await candidates('resources1=VCPU:4&required1=HW_NUMA_ROOT')).toEqual([])
    const together = 'resources_CPU=VCPU:1&resources_MEM=MEMORY_MB:64&group_policy=none'
    expect(await candidates(`${together}&same_subtree=_CPU,_MEM`)).toEqual([1, 1, 1, 1])
    const bare = `${together}&required_NODE=HW_NUMA_ROOT&same_subtree=_CPU,_MEM,_NODE`
    expect(await candidates(bare)).toHaveLength(4)
    const [, node] = await numa.treeOf(numa.cloud.hosts[0]!.name)
    expect(await candidates(`resources=VCPU:1&in_tree=${node!.uuid}`)).toHaveLength(2)
    const old = await numa.admin.get<Loose>('/placement/allocation_candidates?resources=VCPU:1', {
      version: '1.28',
    })
    expect(old.body['allocation_requests']).toEqual([])
  })
})

describe('on one host', () => {
  let host: string
  beforeAll(async () => {
    host = numa.cloud.hosts[0]!.name
    await numa.enable(numa.cloud.hosts[1]!.name, 'disable')
  })
  afterAll(() => numa.enable(numa.cloud.hosts[1]!.name, 'enable'))

  test('servers hold what they take of their nodes, and no node gives more than it has', async () => {
    const first = await numa.boot('node')
    expect(await numa.heldWhereItIs(first.id, host)).toEqual([WHOLE])
    const second = await numa.boot('node')
    expect(await numa.heldWhereItIs(second.id, host)).toEqual([WHOLE])
    await expect.poll(() => numa.usagesOf(host)).toEqual([USED, USED])

    // The host has two CPUs left, and no node has both.
    expect(await numa.refused('node')).toContain(
      'has no 1 NUMA nodes with 2 VCPU and 256 MEMORY_MB free',
    )
    const apart = await numa.boot('nodes')
    expect(await numa.heldWhereItIs(apart.id, host)).toEqual([HALF, HALF])
    expect(await numa.nodesOfGuest(apart.id)).toHaveLength(2)
  })

  test('a server without such a wish is wherever others leave room', async () => {
    const shared = await numa.boot('shared')
    const [taken] = await numa.nodesOfGuest((await numa.boot('node')).id)
    const memory = taken === 0 ? [256, 344] : [512, 88]

    await expect
      .poll(() => numa.heldBy(shared.id))
      .toEqual({
        [host]: { DISK_GB: 1 },
        [`${host}_NUMA_0`]: { VCPU: 1, MEMORY_MB: memory[0] },
        [`${host}_NUMA_1`]: { MEMORY_MB: memory[1] },
      })
    const usages = memory.map((amount, node) => ({
      ...NOTHING,
      VCPU: (node === taken ? 2 : 0) + (node === 0 ? 1 : 0),
      MEMORY_MB: (node === taken ? 256 : 0) + amount,
    }))
    await expect.poll(() => numa.usagesOf(host)).toEqual(usages)
    const [, first] = await numa.treeOf(host)
    const { allocations } = await numa.placement(`/resource_providers/${first!.uuid}/allocations`)
    expect((allocations as Loose)[shared.id]).toMatchObject({
      resources: { VCPU: 1, MEMORY_MB: memory[0] },
    })
    expect(await numa.refused('shared')).toContain('MiB of memory free')
  })

  test('dedicated CPUs are of as few nodes as have them', async () => {
    const first = await numa.boot('pinned')
    const held = await numa.heldBy(first.id)
    const cpus = [0, 1].map((node) => held[`${host}_NUMA_${node}`]?.['PCPU'])
    expect(cpus.toSorted((a = 0, b = 0) => a - b)).toEqual([1, 2])
    expect(await numa.refused('pinned')).toContain('1 PCPU free')
  })
})
