import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { images } from '#gateway/db/schema/image.ts'
import { floatingIps } from '#gateway/db/schema/routing.ts'
import { serverIndex } from '#gateway/db/schema/servers.ts'
import { volumes } from '#gateway/db/schema/volumes.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import { createServer } from '#gateway/server.ts'
import { checkedAnswer } from '#test/env/api/check-response.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleServer } from '#test/env/sample-server.ts'

// Goal: the sums of usage are those of Compute's own usage, told apart by project, cell and flavor, and have a price.

const directory = mkdtempSync(join(tmpdir(), 'weir-usage-'))
const PRICES = {
  currency: 'EUR',
  default: { vcpu: 0.5, volume_gb: 0.1, image_gb: 0.01, floating_ip: 0.2 },
  cells: { south: { server: 2 } },
}
const PERIOD = 'start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

interface Usage {
  readonly project_id: string | null
  readonly server_hours: number
  readonly vcpu_hours: number
  readonly memory_mb_hours: number
  readonly disk_gb_hours: number
  readonly volume_gb_hours: number
  readonly image_gb_hours: number
  readonly floating_ip_hours: number
  readonly cost: number | null
}
interface Usages {
  readonly start: string
  readonly end: string
  readonly currency: string | null
  readonly usages: readonly Usage[]
}

const at = (time: string) => new Date(`2026-10-${time}:00:00Z`)

async function ran(owner: ApiClient, cell: number, started: string, ended: string | null) {
  const cellId = api.cells[cell]!.id
  const server = sampleServer(owner, cellId, { vmState: 'active', taskState: null })
  const { db } = api.gateway
  await db.transaction(async (tx) => queueServers(tx, [{ ...server, addresses: {} }]))
  const gone = ended === null ? null : at(ended)
  await db.orm
    .update(serverIndex)
    .set({ launchedAt: at(started), terminatedAt: gone, deletedAt: gone })
    .where(eq(serverIndex.serverId, server.id))
  return server
}

async function usage(query: string, client = admin) {
  const app = createServer(api.gateway, ['federation'])
  const url = `http://gw.example/federation/v1/usage?${query}`
  const headers = new Headers({ Host: 'gw.example', 'X-Auth-Token': client.token })
  const response = await app.request(url, { headers })
  const body = await checkedAnswer({ method: 'GET', url, headers, body: undefined }, response)
  return { status: response.status, body: body as Usages }
}

beforeAll(async () => {
  const file = join(directory, 'prices.json')
  writeFileSync(file, JSON.stringify(PRICES))
  api = await computeApi('usage', ['north', 'south'], { GATEWAY_PRICES_FILE: file })
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'reader')
  bob = await api.user('bob', 'red', 'member')
  await ran(alice, 0, '01T00', '02T00')
  await ran(alice, 0, '01T00', null)
  await ran(alice, 1, '10T00', '10T06')
  await ran(bob, 1, '10T12', null)
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

test('the sums of a project are those that Compute shows', async () => {
  const { body } = await usage(PERIOD)

  expect(body).toMatchObject({
    start: '2026-10-10T00:00:00.000Z',
    end: '2026-10-11T00:00:00.000Z',
    currency: 'EUR',
  })
  const { body: listed } = await admin.call<{
    readonly tenant_usages: readonly Readonly<Record<string, unknown>>[]
  }>('listTenantUsage', { query: '?start=2026-10-10T00:00:00&end=2026-10-11T00:00:00' })
  const shown = listed.tenant_usages.map((each) => ({
    project_id: each['tenant_id'],
    server_hours: each['total_hours'],
    vcpu_hours: each['total_vcpus_usage'],
    memory_mb_hours: each['total_memory_mb_usage'],
    disk_gb_hours: each['total_local_gb_usage'],
  }))
  const ours = body.usages.map((each) => ({
    project_id: each.project_id,
    server_hours: each.server_hours,
    vcpu_hours: each.vcpu_hours,
    memory_mb_hours: each.memory_mb_hours,
    disk_gb_hours: each.disk_gb_hours,
  }))
  expect(new Set(ours)).toEqual(new Set(shown))
  expect(body.usages).toMatchObject(
    [
      { project: 'blue', cell: null, cell_id: null, flavor: null, servers: 2, server_hours: 30 },
      { project: 'red', servers: 1, server_hours: 12 },
    ].toSorted((a, b) => b.server_hours - a.server_hours),
  )
})

test('the cost is by the prices of the cell in which the servers were', async () => {
  const { body } = await usage(`${PERIOD}&by=cell,project`)
  const north = body.usages.find((each) => each.server_hours === 24)!
  const vcpus = north.vcpu_hours / 24

  expect(body.usages).toHaveLength(3)
  expect(body.usages).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ project: 'blue', cell: 'north', cost: 24 * vcpus * 0.5 }),
      expect.objectContaining({ project: 'blue', cell: 'south', cost: 6 * 2 }),
      expect.objectContaining({ project: 'red', cell: 'south', cost: 12 * 2 }),
    ]),
  )
  const all = await usage(`${PERIOD}&by=flavor`)
  expect(all.body.usages).toMatchObject([{ project_id: null, servers: 3, server_hours: 42 }])
})

test('one project may be asked for by its name', async () => {
  const { body } = await usage(`${PERIOD}&project=red`)
  expect(body.usages).toMatchObject([{ project_id: bob.projectId, server_hours: 12 }])
})

test('without a period it is the month until now', async () => {
  const { body } = await usage('by=flavor')
  const start = new Date(body.start)

  expect([start.getUTCDate(), start.getUTCHours(), start.getUTCMinutes()]).toEqual([1, 0, 0])
  expect(Math.abs(Date.now() - new Date(body.end).getTime())).toBeLessThan(60_000)
  expect(body.usages).toMatchObject([{ servers: 2 }])
})

test.each([
  ['by=weather', /'weather' is none of project, cell, flavor/],
  ['start=yesterday', /Invalid start: 'yesterday' is not a time/],
  ['start=2026-10-11&end=2026-10-10', /is not before the end of the period/],
])('%s is refused with the reason', async (query, reason) => {
  const { status, body } = await usage(query)
  expect([status, (body as unknown as { detail: string }).detail]).toEqual([
    400,
    expect.stringMatching(reason),
  ])
})

test('a missing project is 404, and users see no usage of others', async () => {
  expect((await usage(`${PERIOD}&project=none`)).status).toBe(404)
  expect((await usage(PERIOD, bob)).status).toBe(403)
})

test('volumes count by their size for the project that has them, also once they are gone, and have a price', async () => {
  const { db } = api.gateway
  const created = at('10T00')
  const id = newId<string>()
  await db.orm.insert(volumes).values({
    ...{ id, projectId: alice.projectId, userId: 'u', metadata: {}, specs: {} },
    ...{ sizeGb: 10, chargedGb: 10, status: 'available', cellId: api.cells[0]!.id, attempt: 1 },
    ...{ triedCells: [], createdAt: created, changedAt: created },
  })
  const volumeHours = async () => {
    const { body } = await usage(`${PERIOD}&by=project,flavor&project=blue`)
    return body.usages.filter(({ volume_gb_hours }) => volume_gb_hours > 0)
  }
  const [kept] = await volumeHours()
  await db.orm.delete(volumes).where(eq(volumes.id, id))

  expect(kept).toMatchObject({
    ...{ project: 'blue', flavor: null, servers: 0, volume_gb_hours: 240 },
    cost: expect.closeTo(24),
  })
  expect(await volumeHours()).toEqual([kept])
})

test('images count by their size and floating IPs by their number, for the default price', async () => {
  const { db } = api.gateway
  const [created, projectId] = [at('10T00'), alice.projectId]
  const [imageId, floatingIpId] = [newId<string>(), newId<string>()]
  await db.orm.insert(images).values({
    ...{ id: imageId, status: 'active', visibility: 'private', owner: projectId },
    ...{ sizeBytes: 5 * 2 ** 30, minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false },
    ...{ properties: {}, revision: 0, createdAt: created, updatedAt: created },
  })
  await db.orm.insert(floatingIps).values({
    ...{ id: floatingIpId, projectId, description: '', createdAt: created, updatedAt: created },
    ...{ networkId: newId<string>(), portId: newId<string>(), address: '203.0.113.7', revision: 0 },
  })
  const ofResources = async () => {
    const { body } = await usage(`${PERIOD}&by=project,flavor&project=blue`)
    return body.usages.filter(({ image_gb_hours }) => image_gb_hours > 0)
  }
  const [found, ...others] = await ofResources()
  await db.orm.delete(images).where(eq(images.id, imageId))
  await db.orm.delete(floatingIps).where(eq(floatingIps.id, floatingIpId))

  // Beside the volume that was there before.
  const cost = 240 * 0.1 + 120 * 0.01 + 24 * 0.2
  expect(others).toEqual([])
  expect(found).toMatchObject({
    ...{ flavor: null, servers: 0, image_gb_hours: 120, floating_ip_hours: 24 },
    cost: expect.closeTo(cost),
  })
  expect(await ofResources()).toEqual([found])
})
