import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { activeServer, createServer, deleteServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: what administrators have a host keep for itself is no server's, and what the host reports stays as it is.

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    gateways: 1,
    cells: 1,
    hostsPerCell: 1,
    driver: { vcpus: '4', memory_mb: '1024', disk_gb: '100' },
    compute: { COMPUTE_CPU_ALLOCATION_RATIO: '1', COMPUTE_RESERVED_MEMORY_MB: '100' },
  })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const NEWEST: Microversion = '1.39'
interface Inventories {
  readonly inventories: Readonly<Record<string, Loose>>
  readonly resource_provider_generation: number
}
const path = (part = '') => `/placement/resource_providers/${cloud.hosts[0]!.id}/inventories${part}`
const inventories = async () => (await admin.get<Inventories>(path(), { version: NEWEST })).body

/** The status of the change of one class of the provider as it is now, and what its answer says. */
async function change(name: string, fields: object, version = NEWEST) {
  const { inventories: present, resource_provider_generation } = await inventories()
  const body = { total: 1, resource_provider_generation, ...present[name] }
  const answer = await admin.put<Loose>(path(`/${name}`), { ...body, ...fields }, { version })
  return [answer.status, JSON.stringify(answer.body)] as const
}
const reserve = (name: string, reserved: number) => change(name, { reserved })

async function refused(): Promise<void> {
  const id = await createServer(cloud, demo)
  await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('No valid host was found')
  await deleteServer(demo, id)
}

test('what a host is to keep for itself no server gets, also after all was started again', async () => {
  expect(await reserve('VCPU', 3)).toMatchObject([200, expect.stringContaining('"reserved":3')])
  const { id } = await activeServer(cloud, demo)
  await refused()

  const [cell] = cloud.cells
  const processes = [cell!.computes[0]!.process, ...cell!.processes, ...cloud.gateways]
  for (const process of processes) await process.stop()
  for (const process of processes.toReversed()) await process.start()
  await cloud.waitUntilWhole()
  expect((await inventories()).inventories).toMatchObject({
    VCPU: { total: 4, reserved: 3 },
    MEMORY_MB: { reserved: 100 },
  })
  await refused()
  const shown = await admin.get<Loose>(`/federation/v1/hosts/${cloud.hosts[0]!.id}`)
  expect(shown.body).toMatchObject({ reserved: { vcpus: 3, memory_mb: 100, disk_gb: 0 } })
  const query = 'resources=VCPU:1'
  const candidates = () =>
    admin.get<Loose>(`/placement/allocation_candidates?${query}`, { version: NEWEST })
  expect((await candidates()).body['allocation_requests']).toEqual([])

  expect((await reserve('VCPU', 2))[0]).toBe(200)
  const second = await activeServer(cloud, demo)
  await refused()
  expect((await reserve('VCPU', 0))[0]).toBe(200)
  const third = await activeServer(cloud, demo)
  for (const each of [id, second.id, third.id]) await deleteServer(demo, each)
})

test('all classes are changed at once, if all are named', async () => {
  const present = await inventories()
  const put = (of: Readonly<Record<string, Loose>>) =>
    admin.put<Inventories>(path(), { ...present, inventories: of }, { version: NEWEST })
  const { VCPU, MEMORY_MB, DISK_GB } = present.inventories as Record<string, Loose>

  expect((await put({ VCPU: VCPU!, DISK_GB: DISK_GB! })).status).toBe(400)
  const all = { VCPU: VCPU!, MEMORY_MB: MEMORY_MB!, DISK_GB: { ...DISK_GB, reserved: 90 } }
  const changed = await put(all)
  expect(changed.status).toBe(200)
  expect(changed.body.inventories).toEqual(all)
  expect(changed.body.resource_provider_generation).toBeGreaterThan(
    present.resource_provider_generation,
  )
  const stale = await put(all)
  expect([stale.status, JSON.stringify(stale.body)]).toEqual([
    409,
    expect.stringContaining('placement.concurrent_update'),
  ])
  expect((await reserve('DISK_GB', 0))[0]).toBe(200)
})

test('what a host reports cannot be changed, nor more reserved than there is', async () => {
  const refusals = [
    ['VCPU', { total: 8 }, 'total of VCPU'],
    ['VCPU', { max_unit: 2 }, 'max_unit of VCPU'],
    ['VCPU', { allocation_ratio: 4 }, 'cpu_allocation_ratio=4'],
    ['VCPU', { reserved: 5 }, 'reserved of VCPU cannot be 5'],
    ['VGPU', { reserved: 0 }, 'no inventory of class VGPU'],
  ] as const
  for (const [name, fields, reason] of refusals)
    expect(await change(name, fields)).toEqual([400, expect.stringContaining(reason)])
  expect((await change('VCPU', { reserved: 4 }, '1.25'))[0]).toBe(400)
  expect((await change('VCPU', { reserved: 4 }, '1.26'))[0]).toBe(200)
  expect((await reserve('VCPU', 0))[0]).toBe(200)
  const unknown = `/placement/resource_providers/${newId<string>()}/inventories/VCPU`
  const body = { total: 4, resource_provider_generation: 1 }
  expect((await admin.put(unknown, body)).status).toBe(404)
  expect((await demo.put(path('/VCPU'), body)).status).toBe(403)
})

test('aggregates are Compute’s, and the refusal says how to change them', async () => {
  const aggregates = `/placement/resource_providers/${cloud.hosts[0]!.id}/aggregates`
  const { status, body } = await admin.put<Loose>(aggregates, [], { version: '1.1' })

  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('openstack aggregate add host AGGREGATE north-1')
  expect((await demo.put(aggregates, [], { version: '1.1' })).status).toBe(403)
})
