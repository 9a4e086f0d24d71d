import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, CallOptions } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  SERVERS,
  type Server,
  smallServer,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient
let server: Server

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  server = await activeServer(cloud, demo)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const nobody = randomUUID()

/** The one fault of an answer, whatever Nova calls it. */
function faultOf(body: unknown): { readonly name: string; readonly message: string } {
  const [[name, fault] = ['', {}]] = Object.entries(body as Record<string, { message: string }>)
  return { name, message: String((fault as { message?: unknown }).message) }
}

describe('a refused create names the field and the problem', () => {
  interface Refused {
    readonly what: string
    readonly change: object
    readonly status: number
    readonly says: RegExp
    readonly options?: CallOptions
  }
  const REFUSED: readonly Refused[] = [
    { what: 'an unknown field', change: { colour: 'red' }, status: 400, says: /colour/ },
    { what: 'a name of the wrong type', change: { name: 7 }, status: 400, says: /name.*7|name/ },
    { what: 'an empty name', change: { name: '' }, status: 400, says: /name/ },
    { what: 'a name of 256', change: { name: 'n'.repeat(256) }, status: 400, says: /name/ },
    { what: 'no image', change: { imageRef: undefined }, status: 400, says: /imageRef|image/i },
    { what: 'no flavor', change: { flavorRef: undefined }, status: 400, says: /flavorRef/ },
    { what: 'an unknown flavor', change: { flavorRef: '999' }, status: 400, says: /Flavor 999/ },
    {
      what: 'an unknown image',
      change: { imageRef: nobody },
      status: 400,
      says: /image/,
    },
    {
      what: 'an unknown network',
      change: { networks: [{ uuid: nobody }] },
      status: 400,
      says: new RegExp(nobody),
    },
    {
      what: 'an unknown key',
      change: { key_name: 'absent' },
      status: 400,
      says: /key_name/,
    },
    {
      what: 'an unknown zone',
      change: { availability_zone: 'moon' },
      status: 400,
      says: /availability.zone|moon/i,
    },
    {
      what: 'an unknown security group',
      change: { security_groups: [{ name: 'nogroup' }] },
      status: 400,
      says: /nogroup/,
    },
    {
      what: 'counts upside down',
      change: { min_count: 3, max_count: 2 },
      status: 400,
      says: /min_count/,
    },
    { what: 'a count of zero', change: { min_count: 0 }, status: 400, says: /min_count/ },
    {
      what: 'user data that is no base64',
      change: { user_data: '***' },
      status: 400,
      says: /user_data/,
    },
    {
      what: 'a metadata value of 256',
      change: { metadata: { key: 'v'.repeat(256) } },
      status: 400,
      says: /metadata/,
    },
    { what: 'tags before 2.52', change: { tags: ['a'] }, status: 400, says: /tags/ },
    {
      what: 'personality after 2.56',
      change: { personality: [] },
      status: 400,
      says: /personality/,
      options: { version: '2.57' },
    },
    {
      what: 'no networks at 2.37',
      change: { networks: undefined },
      status: 400,
      says: /networks/,
      options: { version: '2.37' },
    },
    {
      what: 'a fixed address outside its subnet',
      change: { fixedAddress: '192.0.2.1' },
      status: 400,
      says: /fixedAddress|192\.0\.2\.1/,
    },
  ]

  test.each(REFUSED)('$what', async ({ change, status, says, options }) => {
    const answer = await askForServer(cloud, demo, change, options)

    expect([answer.status, faultOf(answer.body)]).toEqual([
      status,
      { name: 'badRequest', message: expect.stringMatching(says) },
    ])
  })

  test('an address outside the subnet of its network', async () => {
    const networks = [{ uuid: cloud.catalog.network, fixed_ip: '192.0.2.1' }]

    const answer = await askForServer(cloud, demo, { networks })

    expect([answer.status, faultOf(answer.body).message]).toEqual([
      400,
      expect.stringContaining('192.0.2.1'),
    ])
  })

  test('nothing was promised for any of them', async () => {
    const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)

    expect(body.servers.map(({ id }) => id)).toEqual([server.id])
    await expectInvariants(cloud)
  })
})

describe('a body that cannot be read', () => {
  const raw = (bytes: string, headers = {}) =>
    demo.post(SERVERS, undefined, {
      raw: bytes,
      headers: { 'content-type': 'application/json', ...headers },
    })

  test.each([
    ['cut off', '{"server": {', 400],
    ['no JSON', 'hello', 400],
    ['a list', '[]', 400],
    ['a text', '"server"', 400],
    ['null', 'null', 400],
    ['without its envelope', '{"name": "x"}', 400],
    ['nested without end', '['.repeat(5_000) + ']'.repeat(5_000), 400],
  ])('%s is refused', async (_what, bytes, status) => {
    expect((await raw(bytes)).status).toBe(status)
  })

  test('a body over the limit is refused with 413', async () => {
    const body = JSON.stringify(smallServer(cloud, { name: 'x'.repeat(2 ** 21) }))

    const { status, body: fault } = await raw(body)

    expect([status, faultOf(fault).name]).toEqual([413, 'overLimit'])
  })

  test('another type of content is refused with 415', async () => {
    expect((await raw('<server/>', { 'content-type': 'application/xml' })).status).toBe(415)
  })
})

describe('microversions', () => {
  const asking = (value: string) =>
    demo.get(SERVERS, { headers: { 'openstack-api-version': value } })

  test.each([
    ['compute 2.0', 406],
    ['compute 2.105', 406],
    ['compute 3.1', 406],
    ['compute 99.99', 406],
    ['compute two', 400],
    ['compute 2', 400],
    ['compute 2.01', 400],
    ['compute ', 400],
  ])("'%s' is answered %i", async (value, status) => {
    expect((await asking(value)).status).toBe(status)
  })

  test('an answer names its microversion, and the headers by which it varies', async () => {
    const { headers } = await demo.get(SERVERS, { version: '2.53' })

    expect(headers).toMatchObject({
      'openstack-api-version': 'compute 2.53',
      'x-openstack-nova-api-version': '2.53',
      vary: expect.stringContaining('OpenStack-API-Version'),
    })
  })
})

describe('missing objects', () => {
  test.each(['no-uuid', '1', nobody, 'a'.repeat(300), '%00', '%2e%2e%2f'])(
    'server %s is not found',
    async (id) => {
      const answer = await demo.get(`${SERVERS}/${id}`)

      expect([answer.status, faultOf(answer.body).name]).toEqual([404, 'itemNotFound'])
    },
  )

  test("another project's server is not found, whatever the request", async () => {
    const stranger = cloud.as('stranger')

    expect((await stranger.get(`${SERVERS}/${server.id}`)).status).toBe(404)
    expect((await act(stranger, server.id, { 'os-stop': null })).status).toBe(404)
    expect((await stranger.delete(`${SERVERS}/${server.id}`)).status).toBe(404)
    expect((await stranger.get(`${SERVERS}/${server.id}/os-instance-actions`)).status).toBe(404)
  })

  test.each([
    ['an unknown action', { dance: null }, 400],
    ['two actions', { 'os-stop': null, 'os-start': null }, 400],
    ['no action', {}, 400],
    ['a reboot of no known kind', { reboot: { type: 'GENTLE' } }, 400],
    ['a reboot without a kind', { reboot: {} }, 400],
  ])('%s is refused', async (_what, body, status) => {
    const answer = await demo.post(`${SERVERS}/${server.id}/action`, body)

    expect([answer.status, faultOf(answer.body).name]).toEqual([status, 'badRequest'])
  })
})

describe('tokens', () => {
  const withToken = (token: string) => demo.get(SERVERS, { headers: { 'x-auth-token': token } })

  test.each([
    ['nobody issued', 'x'.repeat(32)],
    ['that is empty', ''],
    ['beyond any length', 'x'.repeat(8_000)],
  ])('a token %s is refused with 401', async (_what, token) => {
    const { status, headers } = await withToken(token)

    expect(status).toBe(401)
    expect(headers['www-authenticate']).toMatch(/^Keystone uri="http/)
  })

  test('a revoked token is refused by every gateway within a second', async () => {
    const token = await cloud.login('demo')
    expect((await withToken(token)).status).toBe(200)

    const revoked = await demo.delete('/identity/v3/auth/tokens', {
      headers: { 'x-subject-token': token },
      gateway: 0,
    })

    expect(revoked.status).toBe(204)
    for (const gateway of [0, 1])
      await waitFor(
        `gateway ${gateway} to refuse the token`,
        async () => {
          const answer = await demo.get(SERVERS, { gateway, headers: { 'x-auth-token': token } })
          return answer.status === 401
        },
        1_000,
      )
  })

  test('an expired token is refused', async () => {
    const token = await cloud.login('demo')
    await cloud.expireToken(token)

    expect(
      (await demo.get(SERVERS, { gateway: 0, headers: { 'x-auth-token': token } })).status,
    ).toBe(401)
  })
})

describe('an image in another format than declared', () => {
  const upload = async (format: string, bytes: Uint8Array) => {
    const made = await demo.post<{ id: string }>('/image/v2/images', {
      name: 'liar',
      disk_format: format,
      container_format: 'bare',
    })
    const path = `/image/v2/images/${made.body.id}`
    const put = await demo.put(`${path}/file`, undefined, {
      raw: bytes,
      headers: { 'content-type': 'application/octet-stream' },
    })
    return { id: made.body.id, put, after: await demo.get<{ status: string }>(path) }
  }
  const qcow2 = (backing: number) => {
    const header = Buffer.alloc(512)
    header.write('QFI\xfb', 'latin1')
    header.writeUInt32BE(3, 4)
    header.writeBigUInt64BE(BigInt(backing), 8)
    header.writeUInt32BE(backing === 0 ? 0 : 11, 16)
    header.writeUInt32BE(16, 20)
    header.writeBigUInt64BE(2n ** 20n, 24)
    header.write('/etc/passwd', 256)
    return header
  }

  test.each([
    ['raw bytes that claim to be qcow2', 'qcow2', Buffer.alloc(512, 1)],
    ['a qcow2 that claims to be raw', 'raw', qcow2(0)],
    ['a qcow2 with a backing file', 'qcow2', qcow2(256)],
  ])('%s cannot be uploaded, and no server boots from it', async (_what, format, bytes) => {
    const { id, put, after } = await upload(format, bytes)

    expect(put.status).toBe(400)
    expect(after.body.status).not.toBe('active')
    expect((await askForServer(cloud, demo, { imageRef: id })).status).toBe(400)
  })
})
