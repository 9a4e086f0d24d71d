import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  askForServer,
  createServer,
  SERVERS,
  type Server,
  showServer,
  untilGone,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const NIL = '00000000-0000-0000-0000-000000000000'
const NO_NETWORK = { networks: 'none' }
const NO_NETWORK_SINCE = { version: '2.37' } as const

async function noNetwork(change: object = {}, version: Microversion = '2.63'): Promise<Server> {
  const id = await createServer(cloud, demo, { ...NO_NETWORK, ...change }, { version })
  return untilStatus(demo, id, 'ACTIVE')
}

async function remove(...ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => demo.delete(`${SERVERS}/${id}`)))
  await Promise.all(ids.map((id) => untilGone(demo, id)))
}

test('certificates that images may be signed with are kept and shown since 2.63', async () => {
  const trusted = ['one', 'two']
  const { id } = await noNetwork({ trusted_image_certificates: trusted })
  const seen = async (version: Microversion) =>
    (await showServer(demo, id, version))['trusted_image_certificates']

  expect([await seen('2.63'), await seen('2.104'), await seen('2.62')]).toEqual([
    trusted,
    trusted,
    undefined,
  ])
  const rebuild = (change: object) =>
    act(demo, id, { rebuild: { imageRef: cloud.catalog.image, ...change } }, { version: '2.63' })
  expect((await rebuild({})).status).toBe(202)
  await untilSettled(cloud, id)
  expect(await seen('2.63')).toEqual(trusted)
  expect((await rebuild({ trusted_image_certificates: null })).status).toBe(202)
  await untilSettled(cloud, id)
  expect(await seen('2.63')).toBeNull()
  await remove(id)
})

describe('a flavor', () => {
  const flavor = (id: string, change: object) =>
    admin.post('/compute/v2.1/flavors', {
      flavor: { id, name: id, ram: 128, vcpus: 1, disk: 1, ...change },
    })

  test('without a root disk is for administrators', async () => {
    await flavor('diskless', { disk: 0 })
    const ask = (who: ApiClient) =>
      askForServer(cloud, who, { flavorRef: 'diskless', ...NO_NETWORK }, NO_NETWORK_SINCE)
    const refused = await ask(demo)
    const taken = await ask(admin)

    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      403,
      expect.stringContaining('zero disk'),
    ])
    expect(taken.status).toBe(202)
    await admin.delete(`${SERVERS}/${taken.body.server.id}`)
  })

  test('that is private is not found by others', async () => {
    await flavor('hidden', { 'os-flavor-access:is_public': false })
    const { status } = await askForServer(
      cloud,
      demo,
      { flavorRef: 'hidden', ...NO_NETWORK },
      NO_NETWORK_SINCE,
    )

    expect(status).toBe(400)
  })
})

describe('unshelving', () => {
  test('looks at a zone since 2.77 only', async () => {
    const { id } = await noNetwork()
    await act(demo, id, { shelve: null })
    await untilStatus(demo, id, 'SHELVED_OFFLOADED')
    const unshelve = (version: Microversion) =>
      act(demo, id, { unshelve: { availability_zone: 'nowhere' } }, { version })

    expect((await unshelve('2.77')).status).toBe(400)
    expect((await unshelve('2.76')).status).toBe(202)
    await untilStatus(demo, id, 'ACTIVE')
    expect((await unshelve('2.77')).status).toBe(409)
    await remove(id)
  })

  test('to a host that another zone or another cell has is refused at once', async () => {
    const zone = 'north'
    const { id } = await noNetwork({ availability_zone: zone })
    await act(demo, id, { shelve: null })
    await untilStatus(demo, id, 'SHELVED_OFFLOADED')
    const unshelve = (where: object) => act(admin, id, { unshelve: where }, { version: '2.91' })
    const elsewhere = await unshelve({ host: 'south-1', availability_zone: null })
    const member = await act(demo, id, { unshelve: { host: 'north-1' } }, { version: '2.91' })

    expect([elsewhere.status, JSON.stringify(elsewhere.body)]).toEqual([
      400,
      expect.stringContaining('is not in cell north'),
    ])
    expect(member.status).toBe(403)
    expect((await unshelve({ host: 'nowhere-1' })).status).toBe(400)
    expect((await unshelve({ host: 'north-2' })).status).toBe(202)
    expect(await untilStatus(admin, id, 'ACTIVE')).toMatchObject({
      'OS-EXT-SRV-ATTR:host': 'north-2',
    })
    await remove(id)
  })
})

describe('a host that does not exist', () => {
  test('is refused where it is asked for by name', async () => {
    const { body, status } = await askForServer(
      cloud,
      admin,
      { ...NO_NETWORK, host: 'nowhere-1' },
      {
        version: '2.74',
      },
    )

    expect([status, body]).toMatchObject([
      400,
      { badRequest: { message: 'Compute host nowhere-1 could not be found.' } },
    ])
  })

  test('fits no server where it is forced with a zone', async () => {
    const change = { ...NO_NETWORK, availability_zone: 'nova:nowhere-1' }
    const id = await createServer(cloud, admin, change, NO_NETWORK_SINCE)

    await expect(untilStatus(admin, id, 'ACTIVE')).rejects.toThrow('No valid host was found')
    await remove(id)
  })
})

describe('a server that no host could take', () => {
  async function unplaced(): Promise<Server> {
    const id = await createServer(
      cloud,
      demo,
      { ...NO_NETWORK, flavorRef: await hugeFlavor(), 'OS-DCF:diskConfig': 'AUTO' },
      NO_NETWORK_SINCE,
    )
    await expect(untilStatus(demo, id, 'ACTIVE')).rejects.toThrow('No valid host was found')
    return showServer(admin, id, '2.3')
  }

  async function hugeFlavor(): Promise<string> {
    const id = 'huge'
    await admin.post('/compute/v2.1/flavors', {
      flavor: { id, name: id, ram: 128, vcpus: 1, disk: 1_000_000 },
    })
    return id
  }

  test("says so in Nova's sentence, names its root device, and has no progress", async () => {
    const server = await unplaced()

    expect(server).toMatchObject({
      status: 'ERROR',
      'OS-EXT-SRV-ATTR:root_device_name': '/dev/vda',
      fault: {
        message: expect.stringMatching(
          /^No valid host was found\. There are not enough hosts available\./,
        ) as string,
      },
    })
    expect(server).not.toHaveProperty('progress')
    await remove(server.id)
  })

  test('can be given another state by administrators', async () => {
    const { id } = await unplaced()
    const reset = (state: string) => act(admin, id, { 'os-resetState': { state } })

    expect((await reset('active')).status).toBe(202)
    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    expect((await reset('error')).status).toBe(202)
    expect((await showServer(demo, id)).status).toBe('ERROR')
    await remove(id)
  })
})

describe('a server without a network', () => {
  let id: string

  beforeAll(async () => {
    id = (await noNetwork()).id
  })
  afterAll(() => remove(id))

  test('is answered with the group that it would have', async () => {
    const { body } = await askForServer(cloud, demo, NO_NETWORK, NO_NETWORK_SINCE)

    expect(body.server).toMatchObject({ security_groups: [{ name: 'default' }] })
    await remove(body.server.id)
  })

  test('is given no floating IP, for want of a fixed one', async () => {
    const add = (address: object) => act(demo, id, { addFloatingIp: address })

    expect((await add({ address: '192.0.2.1' })).status).toBe(400)
    expect((await add({ address: 'x' })).status).toBe(400)
    expect((await act(demo, id, { removeFloatingIp: { address: '192.0.2.1' } })).status).toBe(404)
  })

  test('gets the only network if the request names none, and shows both of two NICs', async () => {
    const interfaces = `${SERVERS}/${id}/os-interface`
    const first = await demo.post<{ interfaceAttachment: Attached }>(interfaces, {})
    expect(first.status).toBe(200)
    await untilSettled(cloud, id)
    const wanted = { net_id: cloud.catalog.network }
    const second = await demo.post<{ interfaceAttachment: Attached }>(interfaces, {
      interfaceAttachment: wanted,
    })
    expect(second.status).toBe(200)
    await untilSettled(cloud, id)
    const own = [first, second].map(({ body }) => body.interfaceAttachment.fixed_ips[0].ip_address)
    const { addresses } = await showServer(demo, id)

    expect(addresses['private']?.map(({ addr }) => addr)).toEqual(own)
    const [taken] = own
    const again = { ...wanted, fixed_ips: [{ ip_address: taken }] }
    const refused = await demo.post(interfaces, { interfaceAttachment: again })
    expect(refused.status).toBe(409)
    const other = await act(demo, id, {
      addFloatingIp: { address: '192.0.2.1', fixed_address: '192.0.2.7' },
    })
    expect(other.status).toBe(400)
    expect((await act(demo, id, { addFloatingIp: { address: '192.0.2.1' } })).status).toBe(404)
    expect((await demo.delete(`${interfaces}/${NIL}`)).status).toBe(404)
  })
})

interface Attached {
  readonly fixed_ips: readonly [{ readonly ip_address: string }]
}

test('servers are found by their root device', async () => {
  const { status, body } = await demo.post<{ server: { id: string } }>(SERVERS, await activeBody())
  expect(status).toBe(202)
  const { id } = body.server
  await untilStatus(demo, id, 'ACTIVE')
  const listed = async (device: string) => {
    const path = `${SERVERS}?all_tenants=1&root_device_name=${encodeURIComponent(device)}`
    const list = await admin.get<{ servers: readonly Server[] }>(path)
    return list.body.servers.some((server) => server.id === id)
  }

  expect([await listed('/dev/vda'), await listed('/dev/sdz')]).toEqual([true, false])
  await remove(id)
})

async function activeBody(): Promise<object> {
  const { image, tiny, network } = cloud.catalog
  const networks = [{ uuid: network }]
  return { server: { name: 'rooted', imageRef: image, flavorRef: tiny, networks } }
}

test('no image has an unknown status', async () => {
  const list = (status: string) =>
    demo.get<{ images: readonly object[] }>(`/compute/v2.1/images?status=${status}`)

  expect(await list('zzz')).toMatchObject({ status: 200, body: { images: [] } })
  expect((await list('active')).body.images).not.toEqual([])
})

test.each([
  ['2.52', 'PUT', '/os-services/d4b5a0c6-0000-4000-8000-000000000000', { status: 'disabled' }],
  ['2.53', 'PUT', '/os-services/enable', { host: 'north-1', binary: 'nova-compute' }],
  ['2.53', 'PUT', '/os-services/disable', { host: 'north-1', binary: 'nova-compute' }],
  ['2.53', 'PUT', '/os-services/force-down', {}],
] as const)('at %s, %s %s is malformed', async (version, _method, path, body) => {
  expect((await admin.put(`/compute/v2.1${path}`, body, { version })).status).toBe(400)
})
