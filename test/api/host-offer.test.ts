import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { activeServer, createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: a host offers what its operator's settings leave of its inventory, and every API says so.

let cloud: Cloud
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    cells: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
    driver: { vcpus: '4', memory_mb: '1024', disk_gb: '100' },
    compute: {
      COMPUTE_RESERVED_VCPUS: '1',
      COMPUTE_RESERVED_MEMORY_MB: '300',
      COMPUTE_RESERVED_DISK_GB: '10',
      COMPUTE_CPU_ALLOCATION_RATIO: '1',
    },
  })
  admin = cloud.as('admin')
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const get = async (path: string) => (await admin.get<Loose>(path)).body

test('what a host keeps for itself is shown by placement, by Compute and by the federation API', async () => {
  const { id } = cloud.hosts[0]!

  const { inventories } = await get(`/placement/resource_providers/${id}/inventories`)
  expect(inventories).toMatchObject({
    VCPU: { total: 4, reserved: 1, allocation_ratio: 1, max_unit: 4 },
    MEMORY_MB: { total: 1024, reserved: 300, allocation_ratio: 1.5 },
    DISK_GB: { total: 100, reserved: 10, allocation_ratio: 1 },
  })
  expect((await get('/compute/v2.1/os-hypervisors/detail'))['hypervisors']).toMatchObject([
    {
      vcpus: 4,
      vcpus_used: 1,
      memory_mb: 1024,
      memory_mb_used: 300,
      free_ram_mb: 724,
      local_gb_used: 10,
      free_disk_gb: 90,
    },
  ])
  expect(await get(`/federation/v1/hosts/${id}`)).toMatchObject({
    reserved: { vcpus: 1, memory_mb: 300, disk_gb: 10 },
    ratios: { vcpus: 1, memory_mb: 1.5 },
  })
})

test('no server gets more than the host has, though the host promises more', async () => {
  const flavor = { id: 'wide', name: 'wide', vcpus: 1, ram: 1_050, disk: 1 }
  await admin.post('/compute/v2.1/flavors', { flavor })

  const candidates = async (ram: number) => {
    const path = `/placement/allocation_candidates?resources=MEMORY_MB:${ram}`
    return (await admin.get<Loose>(path, { version: '1.39' })).body['allocation_requests']
  }
  expect(await candidates(1_024)).toHaveLength(1)
  expect(await candidates(1_050)).toEqual([])
  const demo = cloud.as('demo')
  const server = await createServer(cloud, demo, { flavorRef: 'wide' })
  await expect(untilStatus(demo, server, 'ACTIVE')).rejects.toThrow('RamFilter')
  const { decisions } = await get(`/federation/v1/servers/${server}/trace`)
  expect(JSON.stringify(decisions)).toContain(
    'gives a server at most 1024 MiB of memory, 1050 are needed',
  )
  await deleteServer(demo, server)
})

test('servers get the rest', async () => {
  const demo = cloud.as('demo')
  for (let nth = 0; nth < 3; nth += 1) await activeServer(cloud, demo)

  const fourth = await createServer(cloud, demo)

  await expect(untilStatus(demo, fourth, 'ACTIVE')).rejects.toThrow('No valid host was found')
  const usages = `/placement/resource_providers/${cloud.hosts[0]!.id}/usages`
  await expect.poll(async () => (await get(usages))['usages']).toMatchObject({ VCPU: 3 })
})
