import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  SERVERS,
  type Server,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: what consumers hold of a provider is, at every rest, what the provider counts as used.

type Amounts = Readonly<Record<string, number>>
type Allocations = Readonly<Record<string, { readonly resources: Amounts }>>

const LARGE = { name: 'large', id: 'large', vcpus: 2, ram: 256, disk: 2 }
const DISKLESS = { name: 'diskless', id: 'diskless', vcpus: 2, ram: 128, disk: 0 }

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    cells: 1,
    hostsPerCell: 2,
    driver: { vcpus: '4', memory_mb: '4096', disk_gb: '100', resources: 'PCPU=4' },
  })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
  for (const flavor of [LARGE, DISKLESS]) await admin.post('/compute/v2.1/flavors', { flavor })
  await storesReported(cloud)
})
afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  for (const { id } of body.servers) await deleteServer(demo, id)
  await expectInvariants(cloud)
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const get = async (path: string) =>
  (await admin.get<Loose>(`/placement${path}`, { version: '1.39' })).body

/** Of a host, by consumer. */
async function allocationsOf(host: string): Promise<Allocations> {
  return (await get(`/resource_providers/${host}/allocations`))['allocations'] as Allocations
}

function sumOf(allocations: Allocations): Amounts {
  const sums: Record<string, number> = {}
  for (const { resources } of Object.values(allocations))
    for (const [name, amount] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + amount
  return sums
}

const projectOf = async (consumer: string) =>
  (await get(`/allocations/${consumer}`))['project_id'] as string
const usagesOf = async (project: string, more = '') =>
  (await get(`/usages?project_id=${project}${more}`))['usages']

/** Once no provider counts anything else than its consumers hold: what is used of each. */
async function usedOfEach(total: Amounts): Promise<readonly Amounts[]> {
  const readAll = () =>
    Promise.all(
      cloud.hosts.map(async ({ id }) => {
        const usages = (await get(`/resource_providers/${id}/usages`))['usages'] as Amounts
        const used = Object.fromEntries(Object.entries(usages).filter(([, amount]) => amount > 0))
        return { used, held: sumOf(await allocationsOf(id)) }
      }),
    )
  await expect.poll(async () => sumOf(asAllocations(await readAll()))).toEqual(total)
  const all = await readAll()
  expect(all.map(({ held }) => held)).toEqual(all.map(({ used }) => used))
  return all.map(({ used }) => used)
}

const asAllocations = (all: readonly { readonly used: Amounts }[]): Allocations =>
  Object.fromEntries(all.map(({ used }, nth) => [nth, { resources: used }]))

async function newImage(properties: object): Promise<string> {
  const draft = { name: 'own', disk_format: 'raw', container_format: 'bare' }
  const path = '/image/v2/images'
  const { body } = await demo.post<{ id: string }>(path, {
    ...draft,
    hypervisor_type: 'fake',
    ...properties,
  })
  await demo.call('PUT', `${path}/${body.id}/file`, undefined, {
    raw: Buffer.from('x'),
    headers: { 'content-type': 'application/octet-stream' },
  })
  return body.id
}

test('a server that starts from a volume holds nothing of the disk of its host', async () => {
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef: uuid, ...rest } = server
  const disk = { source_type: 'image', destination_type: 'volume', uuid, boot_index: '0' }
  const { body } = await demo.post<{ server: { id: string } }>(SERVERS, {
    server: { ...rest, block_device_mapping_v2: [{ ...disk, volume_size: 1 }] },
  })
  await untilStatus(demo, body.server.id, 'ACTIVE')

  await usedOfEach({ VCPU: 1, MEMORY_MB: 128 })
})

test('a server of a flavor without disk holds as much as its image needs, and dedicated CPUs if that says so', async () => {
  const large = await newImage({ min_disk: 3 })
  // Nova lets administrators alone start such a server from an image.
  const asked = { flavorRef: 'diskless', imageRef: large, networks: 'none' }
  const id = await createServer(cloud, admin, asked, { version: '2.37' })
  await untilStatus(admin, id, 'ACTIVE')
  await usedOfEach({ VCPU: 2, MEMORY_MB: 128, DISK_GB: 3 })
  await deleteServer(admin, id)

  const pinned = await newImage({ hw_cpu_policy: 'dedicated' })
  const { id: other } = await activeServer(cloud, demo, { flavorRef: 'large', imageRef: pinned })
  await usedOfEach({ PCPU: 2, MEMORY_MB: 256, DISK_GB: 2 })
  expect(await usagesOf(await projectOf(other))).toMatchObject({ INSTANCE: { PCPU: 2, VCPU: 0 } })
})

test.each([
  ['confirmed', { confirmResize: null }, { VCPU: 2, MEMORY_MB: 256, DISK_GB: 2 }],
  ['reverted', { revertResize: null }, { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 }],
])('a resize has the former size held by its migration, until it is %s', async (_, end, after) => {
  const { id } = await activeServer(cloud, demo)
  await act(demo, id, { resize: { flavorRef: 'large' } })
  await untilStatus(demo, id, 'VERIFY_RESIZE')

  await usedOfEach({ VCPU: 3, MEMORY_MB: 384, DISK_GB: 3 })
  const held = await Promise.all(cloud.hosts.map((host) => allocationsOf(host.id)))
  const consumers = Object.assign({}, ...held) as Allocations
  const migration = Object.keys(consumers).find((consumer) => consumer !== id)!
  expect(consumers[id]!.resources).toEqual({ VCPU: 2, MEMORY_MB: 256, DISK_GB: 2 })
  expect(await get(`/allocations/${migration}`)).toMatchObject({ consumer_type: 'MIGRATION' })
  const project = await projectOf(id)
  expect(await usagesOf(project)).toMatchObject({
    INSTANCE: { VCPU: 2, consumer_count: 1 },
    MIGRATION: { VCPU: 1, consumer_count: 1 },
  })
  expect(await usagesOf(project, '&consumer_type=all')).toMatchObject({
    all: { VCPU: 3, consumer_count: 2 },
  })

  await act(demo, id, end)
  await untilStatus(demo, id, 'ACTIVE')
  await usedOfEach(after)
  expect((await get(`/allocations/${migration}`))['allocations']).toEqual({})
})

test('a migration holds the host that its server has left, until it is confirmed', async () => {
  const { id } = await activeServer(cloud, demo)
  const [from] = Object.keys((await get(`/allocations/${id}`))['allocations'] as object)
  await act(admin, id, { migrate: null })
  await untilStatus(demo, id, 'VERIFY_RESIZE')

  const one = { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 }
  expect(await usedOfEach({ VCPU: 2, MEMORY_MB: 256, DISK_GB: 2 })).toEqual([one, one])
  const [left] = Object.keys(await allocationsOf(from!))
  expect(left).not.toBe(id)

  await act(demo, id, { confirmResize: null })
  await untilStatus(demo, id, 'ACTIVE')
  await usedOfEach(one)
})

test('a server on its way to another host holds that one, and the migration the former one', async () => {
  const { id } = await activeServer(cloud, demo)
  for (const host of cloud.hosts) host.fail({ method: 'send', effect: { do: 'hang' } })
  const live = { host: null, block_migration: 'auto' }
  await act(admin, id, { 'os-migrateLive': live }, { version: '2.25' })

  const one = { VCPU: 1, MEMORY_MB: 128, DISK_GB: 1 }
  expect(await usedOfEach({ VCPU: 2, MEMORY_MB: 256, DISK_GB: 2 })).toEqual([one, one])
  for (const host of cloud.hosts) host.fail()
  await untilStatus(demo, id, 'ACTIVE')
  await usedOfEach(one)
})
