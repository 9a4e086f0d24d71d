import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  SERVERS,
  showServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

const driver = { machines: 'CUSTOM_GOLD=2', vcpus: '4', memory_mb: '4096', disk_gb: '40' }
const WHOLE = {
  'resources:CUSTOM_GOLD': '1',
  'resources:VCPU': '0',
  'resources:MEMORY_MB': '0',
  'resources:DISK_GB': '0',
}

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, driver })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

async function placement(path: string): Promise<Loose> {
  const { status, body } = await admin.get(`/placement${path}`, { version: '1.39' })
  expect(status).toBe(200)
  return body
}

async function providers(query: string): Promise<readonly { readonly uuid: string }[]> {
  const body = await placement(`/resource_providers?${query}`)
  return body['resource_providers'] as { uuid: string }[]
}

async function flavorWith(name: string, specs: Readonly<Record<string, string>>): Promise<string> {
  const flavor = { name, ram: 4096, vcpus: 4, disk: 40, id: name }
  expect((await admin.post('/compute/v2.1/flavors', { flavor })).status).toBe(200)
  const at = `/compute/v2.1/flavors/${name}/os-extra_specs`
  expect((await admin.post(at, { extra_specs: specs })).status).toBe(200)
  return name
}

test('servers of a class of machines get one each, and there are no more than there are', async () => {
  const flavorRef = await flavorWith('gold', WHOLE)
  const servers = [
    await activeServer(cloud, demo, { flavorRef }),
    await activeServer(cloud, demo, { flavorRef }),
  ]

  const third = await createServer(cloud, demo, { flavorRef })
  await untilStatus(demo, third, 'ERROR')
  expect((await showServer(demo, third)).fault).toMatchObject({
    message: expect.stringContaining('No valid host'),
  })
  const parts = await createServer(cloud, demo)
  await untilStatus(demo, parts, 'ERROR')

  expect(await providers('resources=VCPU:1')).toEqual([])
  const [provider] = await providers('name=north-1')
  const inventories = await placement(`/resource_providers/${provider!.uuid}/inventories`)
  expect(inventories).toMatchObject({ inventories: { CUSTOM_GOLD: { total: 2 } } })
  const usages = () => placement(`/resource_providers/${provider!.uuid}/usages`)
  await expect.poll(usages, { timeout: 15_000 }).toMatchObject({ usages: { CUSTOM_GOLD: 2 } })
  expect(await placement(`/allocations/${servers[0]!.id}`)).toMatchObject({
    allocations: { [provider!.uuid]: { resources: { CUSTOM_GOLD: 1 } } },
  })
  const [hypervisor] = (
    await admin.get<{ hypervisors: object[] }>('/compute/v2.1/os-hypervisors/detail')
  ).body.hypervisors
  expect(hypervisor).toMatchObject({
    vcpus: 8,
    vcpus_used: 8,
    memory_mb_used: 8192,
    running_vms: 2,
  })

  for (const { id } of [...servers, { id: third }, { id: parts }]) {
    await demo.delete(`${SERVERS}/${id}`)
    await untilGone(demo, id)
  }
  await expectInvariants(cloud)
  const again = await activeServer(cloud, demo, { flavorRef })
  await demo.delete(`${SERVERS}/${again.id}`)
  await untilGone(demo, again.id)
})
