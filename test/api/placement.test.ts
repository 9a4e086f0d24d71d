import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Fault } from '#drivers/fake/faults.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  SERVERS,
  type Server,
  showServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import type { CloudOptions } from '#test/env/cloud/options.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient

const NO_SPAWN: Fault = { method: 'spawn', effect: { do: 'fail', kind: 'internal' } }
const HANG: Fault = { method: 'spawn', effect: { do: 'hang' } }

const start = async (options: CloudOptions = {}) => {
  cloud = await startCloud(options)
  demo = cloud.as('demo')
}

afterEach(async () => {
  for (const host of cloud.hosts) host.fail()
  await deleteAll()
  await expectInvariants(cloud)
})

/** No allocation of any server may be left, whether it was deleted, moved or failed. */
async function deleteAll(): Promise<void> {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  await Promise.all(body.servers.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  for (const { id } of body.servers) await untilGone(demo, id)
}

const zoneOf = (server: Server) => String(server['OS-EXT-AZ:availability_zone'])

describe('hosts of room for two', () => {
  beforeAll(() =>
    start({
      driver: {
        memory_mb: '256',
        resources: 'PCPU=2,CUSTOM_HUGEPAGE_MB=256,CUSTOM_HUGEPAGE_2048K_MB=256,CUSTOM_PCI_GPU=1',
      },
      cell: { CELL_RAM_ALLOCATION_RATIO: '1' },
    }),
  )

  afterAll(() => cloud?.[Symbol.asyncDispose]())

  test('a full cell is followed by the next one, and the whole cloud by ERROR', async () => {
    const servers: Server[] = []
    for (let nth = 0; nth < 8; nth += 1) servers.push(await activeServer(cloud, demo))

    expect(servers.filter((server) => zoneOf(server) === 'north')).toHaveLength(4)
    expect(servers.filter((server) => zoneOf(server) === 'south')).toHaveLength(4)

    const ninth = await createServer(cloud, demo)
    const failed = await waitFor(
      'the ninth server to fail',
      async () => {
        const server = await showServer(demo, ninth)
        return server.status === 'ERROR' ? server : undefined
      },
      15_000,
    )
    expect(failed.fault).toMatchObject({
      code: 500,
      message: expect.stringMatching(
        /^No valid host was found\. There are not enough hosts available\. \w+Filter removed the last of 2 hosts\.$/,
      ),
    })
  })

  test('a zone that is full does not spill into another', async () => {
    const north = { availability_zone: 'north' }
    for (let nth = 0; nth < 4; nth += 1)
      expect(zoneOf(await activeServer(cloud, demo, north))).toBe('north')

    const fifth = await createServer(cloud, demo, north)

    await expect(untilStatus(demo, fifth, 'ACTIVE')).rejects.toThrow('No valid host was found')
  })

  test('CPUs, pages and devices that a flavor names are counted, and each has one server', async () => {
    const admin = cloud.as('admin')
    const get = async (path: string) => (await admin.get<Loose>(path, { version: '1.39' })).body
    const flavor = { name: 'special', id: 'special', ram: 64, vcpus: 2, disk: 1 }
    await admin.post('/compute/v2.1/flavors', { flavor })
    await admin.post('/compute/v2.1/flavors/special/os-extra_specs', {
      extra_specs: {
        'hw:cpu_policy': 'dedicated',
        'hw:mem_page_size': '2MB',
        'pci_passthrough:alias': 'gpu:1',
      },
    })
    const special = { flavorRef: 'special', availability_zone: 'north' }
    const plain = await activeServer(cloud, demo, { availability_zone: 'north' })
    const servers = [
      await activeServer(cloud, demo, special),
      await activeServer(cloud, demo, special),
    ]

    const third = await createServer(cloud, demo, special)
    await expect(untilStatus(demo, third, 'ACTIVE')).rejects.toThrow(/Filter removed the last/)
    const { decisions } = await get(`/federation/v1/servers/${third}/trace`)
    expect(JSON.stringify(decisions)).toMatch(/0 (PCPU|CUSTOM_\w+) free/)

    const resources = {
      ...{ PCPU: 2, CUSTOM_HUGEPAGE_MB: 64, CUSTOM_HUGEPAGE_2048K_MB: 64 },
      ...{ MEMORY_MB: 64, DISK_GB: 1 },
    }
    const { allocations } = await get(`/placement/allocations/${servers[0]!.id}`)
    const held = allocations as Record<string, Loose>
    const holding = (name: string) =>
      Object.entries(held).find(([, of]) => name in (of['resources'] as Loose))!
    const [[host, ofHost], [devices, ofDevices]] = [holding('PCPU'), holding('CUSTOM_PCI_GPU')]
    expect(ofHost['resources']).toEqual(resources)
    expect(ofDevices['resources']).toEqual({ CUSTOM_PCI_GPU: 1 })
    const at = (provider: string, what = '') =>
      get(`/placement/resource_providers/${provider}${what}`)
    expect(await at(devices)).toMatchObject({
      name: expect.stringMatching(/^north-\d_CUSTOM_PCI_GPU$/),
      parent_provider_uuid: host,
      root_provider_uuid: host,
    })
    expect(await at(host, '/inventories')).toMatchObject({
      inventories: {
        PCPU: { total: 2 },
        CUSTOM_HUGEPAGE_2048K_MB: { total: 256, min_unit: 2, step_size: 2 },
      },
    })
    expect(await at(devices, '/inventories')).toMatchObject({
      inventories: { CUSTOM_PCI_GPU: { total: 1, allocation_ratio: 1 } },
    })
    expect(await at(devices, '/allocations')).toMatchObject({
      allocations: { [servers[0]!.id]: { resources: { CUSTOM_PCI_GPU: 1 } } },
    })
    await expect
      .poll(() => at(host, '/usages'))
      .toMatchObject({ usages: { PCPU: 2, CUSTOM_HUGEPAGE_MB: 64 } })
    expect(await at(devices, '/usages')).toMatchObject({ usages: { CUSTOM_PCI_GPU: 1 } })

    const topology = `${SERVERS}/${servers[0]!.id}/topology`
    const node = { memory_mb: 64, siblings: [], vcpu_set: [0, 1] }
    expect((await demo.get(topology, { version: '2.78' })).body).toEqual({
      nodes: [node],
      pagesize_kb: null,
    })
    expect((await admin.get(topology, { version: '2.78' })).body).toEqual({
      nodes: [{ ...node, host_node: 0, cpu_pinning: { 0: 0, 1: 1 } }],
      pagesize_kb: null,
    })
    await demo.delete(`${SERVERS}/${servers[0]!.id}`)
    await untilGone(demo, servers[0]!.id)
    await demo.post(`${SERVERS}/${plain.id}/action`, { resize: { flavorRef: 'special' } })
    await untilStatus(demo, plain.id, 'VERIFY_RESIZE')
  })
})

describe('hosts that fail', () => {
  beforeAll(() => start())

  afterAll(() => cloud?.[Symbol.asyncDispose]())

  test('a host that fails is followed by another one of its cell', async () => {
    cloud.cell('north').computes[0]?.fail(NO_SPAWN)

    for (let nth = 0; nth < 4; nth += 1) {
      const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
      const server = await showServer(cloud.as('admin'), id)
      expect(server['OS-EXT-SRV-ATTR:host']).toBe('north-2')
    }
  })

  test('a cell of which every host fails is followed by the next cell', async () => {
    for (const host of cloud.cell('north').computes) host.fail(NO_SPAWN)

    for (let nth = 0; nth < 4; nth += 1)
      expect(zoneOf(await activeServer(cloud, demo))).toBe('south')
  })

  test('where every host fails, the server is in ERROR with its fault and nothing is left', async () => {
    const detail = 'cell1-compute1 says: quota exceeded'
    const spawnFault = {
      method: 'spawn',
      effect: { do: 'fail', kind: 'no-capacity', detail },
    } as const
    for (const host of cloud.hosts) host.fail(spawnFault)

    const id = await createServer(cloud, demo)
    await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('No valid host was found')

    const { fault } = await showServer(cloud.as('admin'), id)
    expect(fault).toMatchObject({
      code: 500,
      message:
        'No valid host was found. There are not enough hosts available. The hosts that were tried could not build it.',
      details: expect.stringContaining(detail),
    })
    expect(JSON.stringify(await showServer(demo, id))).not.toContain(detail)
    const actions = `${SERVERS}/${id}/os-instance-actions`
    const version = '2.84'
    type Listed = { readonly instanceActions: readonly [{ readonly request_id: string }] }
    const { instanceActions } = (await demo.get<Listed>(actions, { version })).body
    const path = `${actions}/${instanceActions[0].request_id}`
    const seenBy = async (who: ApiClient) => JSON.stringify((await who.get(path, { version })).body)
    expect(await seenBy(cloud.as('admin'))).toContain(detail)
    expect(await seenBy(demo)).not.toContain(detail)
    for (const host of cloud.hosts) expect(await host.guests()).toEqual([])
  })

  test('a server can be deleted while it is being built', async () => {
    for (const host of cloud.hosts) host.fail(HANG)
    const id = await createServer(cloud, demo)
    expect((await showServer(demo, id)).status).toBe('BUILD')

    expect((await demo.delete(`${SERVERS}/${id}`)).status).toBe(204)
    expect([200, 404]).toContain((await demo.get(`${SERVERS}/${id}`)).status)
    for (const host of cloud.hosts) host.fail()

    await untilGone(demo, id)
  })

  test('a disabled host takes no more servers until it is enabled', async () => {
    const admin = cloud.as('admin')
    const service = { host: 'north-1', binary: 'nova-compute' }
    expect((await admin.put('/compute/v2.1/os-services/disable', service)).status).toBe(200)

    for (let nth = 0; nth < 3; nth += 1) {
      const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
      expect((await showServer(admin, id))['OS-EXT-SRV-ATTR:host']).toBe('north-2')
    }
    expect((await admin.put('/compute/v2.1/os-services/enable', service)).status).toBe(200)

    for (const host of cloud.hosts) if (host.name !== 'north-1') host.fail(NO_SPAWN)
    const { id } = await activeServer(cloud, demo, { availability_zone: 'north' })
    expect((await showServer(admin, id))['OS-EXT-SRV-ATTR:host']).toBe('north-1')
  })
})
