import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import type { Answer, ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  deleteServer,
  SERVERS,
  type Server,
  smallServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
  demo = cloud.as('demo')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

async function shown(id: string, version: Microversion, client = demo): Promise<Server> {
  const { body } = await client.get<{ server: Server }>(`${SERVERS}/${id}`, { version })
  return body.server
}

async function listed(id: string, version: Microversion): Promise<Server | undefined> {
  const { body } = await demo.get<{ servers: Server[] }>(`${SERVERS}/detail`, { version })
  return body.servers.find((server) => server.id === id)
}

/** The only field of a fault is its name. */
function expectRefused({ status, body }: Answer<unknown>, code: number, message = ''): void {
  expect(status).toBe(code)
  const [fault] = Object.values(body as Record<string, { readonly message: string }>)
  expect(fault?.message).toContain(message)
}

const update = (id: string, server: object, version: Microversion = '2.104') =>
  demo.put<{ server: Server }>(`${SERVERS}/${id}`, { server }, { version })

describe('host names', () => {
  test('may be fully qualified from 2.94 on, at boot, at an update and at a rebuild', async () => {
    const hostname = 'Shop_1.example.org'
    const { body } = await demo.post<{ server: Server }>(
      SERVERS,
      smallServer(cloud, { hostname, networks: 'none' }),
      { version: '2.94' },
    )
    const { id } = body.server
    await untilStatus(demo, id, 'ACTIVE')
    expect(await shown(id, '2.94')).toMatchObject({ 'OS-EXT-SRV-ATTR:hostname': hostname })
    const log = await act(demo, id, { 'os-getConsoleOutput': {} })
    expect(log.body['output']).toContain(`(${hostname})`)

    const renamed = await update(id, { hostname: 'x' }, '2.94')
    expect(renamed.body.server).toMatchObject({ 'OS-EXT-SRV-ATTR:hostname': 'x' })
    const rebuild = { imageRef: cloud.catalog.image, hostname: 'a.b.example' }
    const rebuilt = await act(demo, id, { rebuild }, { version: '2.94' })
    expect(rebuilt.body['server']).toMatchObject({ 'OS-EXT-SRV-ATTR:hostname': 'a.b.example' })
    await untilSettled(cloud, id)

    expectRefused(await update(id, { hostname: 'a.b' }, '2.93'), 400)
    expectRefused(await update(id, { hostname: 'a/b' }, '2.94'), 400)
    expectRefused(await update(id, { hostname: 'a'.repeat(256) }, '2.94'), 400)
    await deleteServer(demo, id)
  })

  test('are for one server', async () => {
    const body = smallServer(cloud, { hostname: 'one', min_count: 2, networks: 'none' })
    const answer = await demo.post(SERVERS, body, { version: '2.90' })
    expectRefused(answer, 400, 'Unable to allocate a single hostname to multiple instances')
  })
})

describe('an intent', () => {
  test('is shown of a server from the microversion that shows it', async () => {
    const image = `/image/v2/images/${cloud.catalog.image}`
    const changes = [
      { op: 'add', path: '/hw_disk_bus', value: 'virtio' },
      { op: 'add', path: '/my_own', value: 'x' },
    ]
    const patched = await cloud.as('admin').call('PATCH', image, changes, {
      headers: { 'content-type': 'application/openstack-images-v2.1-json-patch' },
    })
    expect(patched.status).toBe(200)
    const hints = { 'os:scheduler_hints': { rack: 7, _nova_check_type: ['x'], near: ['a', 'b'] } }
    const zones = await demo.get<{ availabilityZoneInfo: { zoneName: string }[] }>(
      '/compute/v2.1/os-availability-zone',
    )
    const { zoneName } = zones.body.availabilityZoneInfo[0]!
    const { body } = await demo.post<{ server: Server }>(SERVERS, {
      ...smallServer(cloud, { availability_zone: zoneName }),
      ...hints,
    })
    const { id } = body.server
    await untilStatus(demo, id, 'ACTIVE')
    const zone = { pinned_availability_zone: zoneName }
    const asked = { rack: ['7'], near: ['a', 'b'] }

    for (const show of [shown, listed]) {
      expect(await show(id, '2.95')).not.toHaveProperty('pinned_availability_zone')
      expect(await show(id, '2.96')).toMatchObject(zone)
      const before = await show(id, '2.97')
      expect(before?.['image']).not.toHaveProperty('properties')
      const properties = await show(id, '2.98')
      const image98 = { properties: { hw_disk_bus: 'virtio' } }
      expect(properties).toMatchObject({ ...zone, image: image98 })
      expect(properties?.['image']).not.toHaveProperty('properties.my_own')
      expect(properties).not.toHaveProperty('scheduler_hints')
      expect(await show(id, '2.100')).toMatchObject({ ...zone, scheduler_hints: asked })
    }
    const rebuild = { imageRef: cloud.catalog.image }
    const rebuilt = await act(demo, id, { rebuild }, { version: '2.100' })
    expect(rebuilt.body['server']).toMatchObject({ ...zone, scheduler_hints: asked })
    await untilSettled(cloud, id)
    await deleteServer(demo, id)
  })

  test('of a server without intents is nothing', async () => {
    const { id } = await activeServer(cloud, demo)
    expect(await shown(id, '2.100')).toMatchObject({
      pinned_availability_zone: null,
      scheduler_hints: {},
    })
    await deleteServer(demo, id)
  })
})

test('a server is bound to the zone it is in, and let go, from 2.104 on', async () => {
  const { id } = await activeServer(cloud, demo)
  const pin = (pinned_availability_zone: string | null) => update(id, { pinned_availability_zone })
  const zone = (await shown(id, '2.104'))['OS-EXT-AZ:availability_zone'] as string

  expectRefused(await update(id, { pinned_availability_zone: null }, '2.103'), 400)
  expectRefused(await pin('mars'), 409, `current availability zone '${zone}', but 'mars'`)
  for (const wanted of [zone, zone, null, null, zone]) {
    const { status, body } = await pin(wanted)
    expect([status, body.server['pinned_availability_zone']]).toEqual([200, wanted])
  }
  const both = { name: 'never', pinned_availability_zone: 'mars' }
  expectRefused(await update(id, both), 409, 'Unpin first')
  expect((await shown(id, '2.104'))['name']).not.toBe('never')
  await deleteServer(demo, id)
})

test('file shares are answered for as by a cloud without them', async () => {
  const { id } = await activeServer(cloud, demo)
  const shares = `${SERVERS}/${id}/shares`
  const share = { share: { share_id: id } }
  const version = '2.97'

  expect((await demo.get(shares, { version })).body).toEqual({ shares: [] })
  expect((await demo.get(shares, { version: '2.96' })).status).toBe(404)
  expectRefused(await demo.get(`${shares}?x=y`, { version }), 400)
  expectRefused(await demo.get(`${shares}/${id}`, { version }), 404, `Share ${id} could not`)
  expectRefused(await demo.post(shares, { share: {} }, { version }), 400)
  expectRefused(await demo.post(shares, share, { version }), 409, 'in vm_state active')
  expectRefused(await demo.delete(`${shares}/${id}`, { version }), 409, 'in vm_state active')
  await act(demo, id, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  expectRefused(await demo.post(shares, share, { version }), 409, 'not configured correctly')
  expectRefused(await demo.delete(`${shares}/${id}`, { version }), 404)
  await deleteServer(demo, id)
})
