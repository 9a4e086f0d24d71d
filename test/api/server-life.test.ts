import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import { MAX } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  createServer,
  deleteServer,
  SERVERS,
  type Server,
  showServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const VERSIONS: readonly Microversion[] = ['2.1', '2.47', '2.79', MAX]

describe('a server from its creation to its end', () => {
  test('it is promised with a location, built, and shown complete', async () => {
    const asked = await askForServer(cloud, demo, { name: 'first', metadata: { a: 'b' } })

    expect(asked.status).toBe(202)
    const { id, adminPass } = asked.body.server
    expect(adminPass).toMatch(/^\S{8,}$/)
    expect(asked.headers['location']).toMatch(new RegExp(`^http.*/compute/v2\\.1/servers/${id}$`))
    const server = await untilStatus(demo, id, 'ACTIVE')
    expect(server).toMatchObject({
      id,
      name: 'first',
      metadata: { a: 'b' },
      image: { id: cloud.catalog.image },
      flavor: { id: cloud.catalog.tiny },
      'OS-EXT-STS:vm_state': 'active',
      'OS-EXT-STS:task_state': null,
      'OS-EXT-STS:power_state': 1,
      progress: 0,
      key_name: null,
      security_groups: [{ name: 'default' }],
    })
    expect(['north', 'south']).toContain(server['OS-EXT-AZ:availability_zone'])
    const console = { 'os-getConsoleOutput': { length: 10 } }
    const last = await demo.post(`/compute/v2.1/servers/${id}/action`, console)
    expect(String(last.body['output']).trimEnd().split('\n')).toHaveLength(10)
    const seen = await showServer(cloud.as('admin'), id.toUpperCase(), '2.79')
    expect(seen).toMatchObject({ id, 'OS-EXT-SRV-ATTR:root_device_name': '/dev/vda' })
    expect(server.addresses['private']?.[0]?.addr).toMatch(/^10\.86\./)
    await deleteServer(demo, id)
    await expectInvariants(cloud)
  })

  test.each(VERSIONS)('every read shows it alike at %s', async (version) => {
    const { id } = await activeServer(cloud, demo, { name: `read-${version}` })

    // Links lead to the gateway that was asked.
    const asked = { version, gateway: 0 }
    const one = await demo.get<{ server: Server }>(`${SERVERS}/${id}`, asked)
    const detail = await demo.get<{ servers: readonly Server[] }>(
      `${SERVERS}/detail?name=read-${version}`,
      asked,
    )
    const list = await demo.get<{ servers: readonly Server[] }>(`${SERVERS}?limit=1000`, asked)

    // Lists leave out the groups (2.71).
    const { server_groups: _, ...shown } = one.body.server
    expect(detail.body.servers).toHaveLength(1)
    expect(detail.body.servers[0]).toStrictEqual(shown)
    expect(list.body.servers).toContainEqual({
      id,
      name: shown.name,
      links: shown['links'] as unknown,
    })
    await deleteServer(demo, id)
  })

  test('its flavor is a link before 2.47 and a copy from then on', async () => {
    const { id } = await activeServer(cloud, demo)

    const [before, since] = [await showServer(demo, id, '2.46'), await showServer(demo, id, '2.47')]

    expect(before['flavor']).toMatchObject({ id: cloud.catalog.tiny, links: [{ rel: 'bookmark' }] })
    expect(since['flavor']).toEqual({
      original_name: 'm1.tiny',
      vcpus: 1,
      ram: 128,
      disk: 1,
      ephemeral: 0,
      swap: 0,
      extra_specs: {},
    })
    await deleteServer(demo, id)
  })

  test('both gateways show it at once, and show it gone at once', async () => {
    const id = await createServer(cloud, demo, {}, { gateway: 0 })

    expect((await demo.get(`${SERVERS}/${id}`, { gateway: 1 })).status).toBe(200)
    await untilStatus(demo, id, 'ACTIVE')
    expect((await demo.delete(`${SERVERS}/${id}`, { gateway: 1 })).status).toBe(204)
    const answer = await demo.get<{ server?: Server }>(`${SERVERS}/${id}`, { gateway: 0 })
    if (answer.status !== 404)
      expect(answer.body.server?.['OS-EXT-STS:task_state']).toBe('deleting')
    await expectInvariants(cloud)
  })

  test('administrators see where it runs, its owner does not', async () => {
    const { id } = await activeServer(cloud, demo)

    const admin = await showServer(cloud.as('admin'), id)
    const owner = await showServer(demo, id)

    expect(cloud.hosts.map(({ name }) => name)).toContain(admin['OS-EXT-SRV-ATTR:host'])
    expect(admin['OS-EXT-SRV-ATTR:hypervisor_hostname']).toBe(admin['OS-EXT-SRV-ATTR:host'])
    expect(owner).not.toHaveProperty('OS-EXT-SRV-ATTR:host')
    expect(owner['hostId']).toMatch(/^[0-9a-f]{56}$/)
    await deleteServer(demo, id)
  })
})

describe('permitted acts on a server', () => {
  interface Move {
    readonly action: object
    readonly status: string
  }
  const MOVES: readonly Move[] = [
    { action: { 'os-stop': null }, status: 'SHUTOFF' },
    { action: { 'os-start': null }, status: 'ACTIVE' },
    { action: { pause: null }, status: 'PAUSED' },
    { action: { unpause: null }, status: 'ACTIVE' },
    { action: { reboot: { type: 'SOFT' } }, status: 'ACTIVE' },
    { action: { reboot: { type: 'HARD' } }, status: 'ACTIVE' },
    { action: { 'os-stop': null }, status: 'SHUTOFF' },
    { action: { reboot: { type: 'HARD' } }, status: 'ACTIVE' },
  ]

  test('it stops, starts, pauses, unpauses and reboots, and its guest does', async () => {
    const { id } = await activeServer(cloud, demo)

    for (const { action, status } of MOVES) {
      expect((await act(demo, id, action)).status).toBe(202)
      const server = await untilSettled(cloud, id)
      expect([JSON.stringify(action), server.status]).toEqual([JSON.stringify(action), status])
    }

    const { body } = await act(demo, id, { 'os-getConsoleOutput': {} })
    expect(body['output']).toMatch(/booted.*powered off.*powered on.*paused.*unpaused.*rebooted/s)
    await deleteServer(demo, id)
  })

  test.each([
    ['running', [], { 'os-start': null }, "Cannot 'start' instance .* vm_state active"],
    ['running', [], { unpause: null }, "Cannot 'unpause' instance .* vm_state active"],
    [
      'stopped',
      [{ 'os-stop': null }],
      { 'os-stop': null },
      "Cannot 'stop' instance .* vm_state stopped",
    ],
    [
      'stopped',
      [{ 'os-stop': null }],
      { pause: null },
      "Cannot 'pause' instance .* vm_state stopped",
    ],
    [
      'stopped',
      [{ 'os-stop': null }],
      { reboot: { type: 'SOFT' } },
      "Cannot 'reboot' instance .* vm_state stopped",
    ],
    ['paused', [{ pause: null }], { 'os-stop': null }, "Cannot 'stop' instance .* vm_state paused"],
    [
      'paused',
      [{ pause: null }],
      { reboot: { type: 'SOFT' } },
      "Cannot 'reboot' instance .* vm_state paused",
    ],
  ])(
    'a %s server refuses with 409 what Nova refuses (%#)',
    async (_state, before, action, message) => {
      const { id } = await activeServer(cloud, demo)
      for (const step of before) {
        await act(demo, id, step)
        await untilSettled(cloud, id)
      }

      const answer = await act(demo, id, action)

      expect(answer.status).toBe(409)
      expect(answer.body).toMatchObject({
        conflictingRequest: { code: 409, message: expect.stringMatching(new RegExp(message)) },
      })
      await deleteServer(demo, id)
    },
  )

  test('its actions are recorded with their user, steps and results', async () => {
    const { id } = await activeServer(cloud, demo)
    const stop = await act(demo, id, { 'os-stop': null })
    await untilSettled(cloud, id)

    const list = await demo.get<{ instanceActions: readonly Readonly<Record<string, unknown>>[] }>(
      `${SERVERS}/${id}/os-instance-actions`,
    )
    const requestId = String(stop.headers['x-openstack-request-id'])
    const shown = await demo.get<{ instanceAction: Readonly<Record<string, unknown>> }>(
      `${SERVERS}/${id}/os-instance-actions/${requestId}`,
      { version: '2.51' },
    )

    expect(list.body.instanceActions.map(({ action }) => action)).toEqual(['stop', 'create'])
    expect(shown.body.instanceAction).toMatchObject({
      action: 'stop',
      instance_uuid: id,
      request_id: requestId,
      message: null,
      events: [{ result: 'Success' }],
    })
    await deleteServer(demo, id)
    await expectInvariants(cloud)
  })

  test('the console log can be cut to its last lines', async () => {
    const { id } = await activeServer(cloud, demo, { name: 'talker' })
    await act(demo, id, { reboot: { type: 'HARD' } })
    await untilSettled(cloud, id)

    const { body } = await act(demo, id, { 'os-getConsoleOutput': { length: 1 } })

    expect(String(body['output']).trim().split('\n')).toHaveLength(1)
    expect(body['output']).toContain('rebooted')
    await deleteServer(demo, id)
  })
})

describe('several servers in one request', () => {
  test('they are numbered, share a reservation, and are spread over the free hosts', async () => {
    const asked = await demo.post<{ reservation_id: string }>(SERVERS, {
      server: {
        name: 'many',
        imageRef: cloud.catalog.image,
        flavorRef: cloud.catalog.tiny,
        networks: [{ uuid: cloud.catalog.network }],
        min_count: 2,
        max_count: 3,
        return_reservation_id: true,
      },
    })

    expect(asked.status).toBe(202)
    const found = await demo.get<{ servers: readonly Server[] }>(
      `${SERVERS}/detail?reservation_id=${asked.body.reservation_id}&sort_key=display_name&sort_dir=asc`,
    )
    expect(found.body.servers.map(({ name }) => name)).toEqual(['many-1', 'many-2', 'many-3'])
    for (const { id } of found.body.servers) await untilStatus(demo, id, 'ACTIVE')
    const addresses = found.body.servers.map((server) => server.addresses['private']?.[0]?.addr)
    expect(new Set(addresses).size).toBe(3)
    for (const { id } of found.body.servers) await deleteServer(demo, id)
    await expectInvariants(cloud)
  })
})
