import { afterAll, beforeAll, expect, test } from 'vitest'
import { FILTERS } from '#cells/scheduler/filters.ts'
import { newId } from '#common/ids.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: filters of hosts have their effect on boots, and say why. The cell runs all of them, and its only host may have one server.

const AGGREGATES = '/compute/v2.1/os-aggregates'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  const cell = {
    CELL_SCHEDULING_FILTERS: FILTERS.map(({ name }) => name).join(','),
    CELL_MAX_INSTANCES_PER_HOST: '1',
  }
  const driver = { vcpus: '4', numa_nodes: '2' }
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, cell, driver })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

/** What operators are told of why a server is nowhere. */
const whyOf = async (id: string) =>
  JSON.stringify((await admin.get<Loose>(`/federation/v1/servers/${id}/trace`)).body)

async function refusedServer(filter = 'NumInstancesFilter', body: Loose = {}): Promise<string> {
  const id = await createServer(cloud, demo, body)
  await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow(filter)
  return id
}

test('of servers asked for at once a host takes as many as its cell allows', async () => {
  const ids = await Promise.all([1, 2, 3].map(() => createServer(cloud, demo)))
  const ends = await Promise.allSettled(ids.map((id) => untilStatus(demo, id, 'ACTIVE')))

  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
  expect(refused).toHaveLength(2)
  for (const reason of refused) expect(reason).toContain('NumInstancesFilter')
  for (const id of ids) await deleteServer(demo, id)
})

test('a host takes no more servers than its cell or aggregate allows, and operators see which of them', async () => {
  const first = await activeServer(cloud, demo)
  const second = await refusedServer()
  expect(await whyOf(second)).toContain('has 1 instances, max_instances_per_host of the cell is 1')

  // The host is full of itself alone.
  await act(demo, first.id, { resize: { flavorRef: cloud.catalog.small } })
  await untilStatus(demo, first.id, 'VERIFY_RESIZE')
  await act(demo, first.id, { confirmResize: null })
  await untilStatus(demo, first.id, 'ACTIVE')

  const { body } = await admin.post<{ aggregate: { id: number } }>(AGGREGATES, {
    aggregate: { name: 'dense' },
  })
  const dense = `${AGGREGATES}/${body.aggregate.id}/action`
  const metadata = { max_instances_per_host: '2' }
  await admin.post(dense, { set_metadata: { metadata } })
  expect((await admin.post(dense, { add_host: { host: cloud.hosts[0]!.name } })).status).toBe(200)
  const third = await activeServer(cloud, demo)
  const fourth = await refusedServer()
  expect(await whyOf(fourth)).toContain(
    `has 2 instances, max_instances_per_host of aggregate ${body.aggregate.id} is 2`,
  )

  for (const id of [first.id, second, third.id, fourth]) await deleteServer(demo, id)
  await activeServer(cloud, demo)
  await expectInvariants(cloud)
})

test.each([
  ['TraitsFilter', { 'trait:CUSTOM_FAST': 'required' }, 'lacks the trait CUSTOM_FAST'],
  ['TraitsFilter', { 'trait:COMPUTE_NODE': 'forbidden' }, 'COMPUTE_NODE, which is forbidden'],
  ['ComputeCapabilitiesFilter', { 'capabilities:vcpus_total': '>= 100000' }, '100000 is needed'],
  ['ComputeCapabilitiesFilter', { colour: 'blue' }, 'has no capability colour'],
  ['ResourceClassFilter', { 'resources:VGPU': '1' }, 'has 0 VGPU free, 1 are needed'],
  ['ResourceClassFilter', { 'resources1:CUSTOM_GOLD': '2' }, 'has 0 CUSTOM_GOLD free, 2'],
  ['TraitsFilter', { 'resources1:VCPU': '1', 'trait1:HW_X': 'required' }, 'lacks the trait HW_X'],
  ['ExtraSpecsFilter', { 'trait1:HW_X': 'required' }, 'there is no resources1:'],
  ['NUMATopologyFilter', { 'hw:numa_nodes': '1' }, 'no 1 of them with 3 CPUs and 64 MiB'],
])('%s holds a host to the extra specs %j', async (filter, specs, reason) => {
  const id = newId<string>()
  const flavor = { name: id, id, ram: 64, vcpus: 3, disk: 1 }
  await admin.post('/compute/v2.1/flavors', { flavor })
  await admin.post(`/compute/v2.1/flavors/${id}/os-extra_specs`, { extra_specs: specs })

  const server = await refusedServer(filter, { flavorRef: id })
  expect(await whyOf(server)).toContain(reason)
  await deleteServer(demo, server)
})

test('ImagePropertiesFilter holds a host to the version that an image requires', async () => {
  const draft = {
    name: 'demanding',
    disk_format: 'raw',
    container_format: 'bare',
    hypervisor_type: 'fake',
    hypervisor_version_requires: '>=2.0',
  }
  const image = await demo.post<{ id: string }>('/image/v2/images', draft)
  await demo.call('PUT', `/image/v2/images/${image.body.id}/file`, undefined, {
    raw: Buffer.from('x'),
    headers: { 'content-type': 'application/octet-stream' },
  })

  const server = await refusedServer('ImagePropertiesFilter', { imageRef: image.body.id })
  expect(await whyOf(server)).toContain('>=2.0 is needed')
  await deleteServer(demo, server)
})

test('hints reach the filters of a cell, and a dry run', async () => {
  const hints = { query: '["=", "$hypervisor_type", "KVM"]' }
  const asked = { ...smallServer(cloud), 'os:scheduler_hints': hints }
  const { body } = await demo.post<{ server: { id: string } }>('/compute/v2.1/servers', asked)
  await expect(untilStatus(demo, body.server.id, 'ACTIVE')).rejects.toThrow('JsonFilter')
  const question = { flavor: cloud.catalog.tiny, image: cloud.catalog.image, hints }
  const dry = await admin.post<Loose>('/federation/v1/placements', question)

  expect(await whyOf(body.server.id)).toContain('does not match the query')
  expect(JSON.stringify(dry.body)).toContain('does not match the query')
  await deleteServer(demo, body.server.id)
})

test.each([
  ['SimpleCIDRAffinityFilter', { build_near_host_ip: '198.51.100.7' }],
  ['DifferentCellFilter', { different_cell: ['north'] }],
  ['TargetCellFilter', { target_cell: 'elsewhere' }],
])('%s refuses places that the hint %j excludes', async (filter, hints) => {
  const asked = { ...smallServer(cloud), 'os:scheduler_hints': hints }
  const { body } = await admin.post<{ server: { id: string } }>('/compute/v2.1/servers', asked)

  await expect(untilStatus(admin, body.server.id, 'ACTIVE')).rejects.toThrow(filter)
  await deleteServer(admin, body.server.id)
})

test('only administrators name cells', async () => {
  for (const hints of [{ different_cell: ['north'] }, { target_cell: 'north' }]) {
    const asked = { ...smallServer(cloud), 'os:scheduler_hints': hints }
    expect((await demo.post('/compute/v2.1/servers', asked)).status).toBe(403)
  }
})
