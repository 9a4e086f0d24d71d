import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { askForServer, SERVERS, type Server, untilStatus } from '#test/env/api/servers.ts'
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

const ask = (key: string, change: object = {}, client = demo, gateway?: number) =>
  askForServer(cloud, client, change, {
    headers: { 'idempotency-key': key },
    ...(gateway === undefined ? {} : { gateway }),
  })
const count = async (name: string) =>
  (await demo.get<{ servers: readonly Server[] }>(`${SERVERS}?name=^${name}`)).body.servers.length

test('a repeat gets the first server again, without its password, from any gateway', async () => {
  const key = randomUUID()
  const first = await ask(key, { name: 'once' }, demo, 0)

  const again = await ask(key, { name: 'once' }, demo, 1)

  expect([first.status, again.status]).toEqual([202, 202])
  expect(again.body.server.id).toBe(first.body.server.id)
  expect(first.body.server.adminPass).toBeDefined()
  expect(again.body.server.adminPass).toBeUndefined()
  await untilStatus(demo, first.body.server.id, 'ACTIVE')
  expect(await count('once')).toBe(1)
})

test('many at once with one key make one server', async () => {
  const key = randomUUID()

  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(key, { name: 'rush' })))

  const made = answers.filter(({ status }) => status === 202)
  expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true)
  expect(new Set(made.map(({ body }) => body.server.id)).size).toBe(1)
  expect(await count('rush')).toBe(1)
})

test('the same key with another body is refused and creates nothing', async () => {
  const key = randomUUID()
  await ask(key, { name: 'mine' })

  const other = await ask(key, { name: 'other' })

  expect(other.status).toBe(422)
  expect(other.body).toMatchObject({
    unprocessableEntity: { message: expect.stringMatching(/Idempotency-Key/i) },
  })
  expect(await count('other')).toBe(0)
})

test("another project's equal key is another key", async () => {
  const key = randomUUID()
  const [mine, theirs] = [await ask(key), await ask(key, {}, cloud.as('admin'))]

  expect(theirs.status).toBe(202)
  expect(theirs.body.server.id).not.toBe(mine.body.server.id)
  await untilStatus(cloud.as('admin'), theirs.body.server.id, 'ACTIVE')
  await expectInvariants(cloud)
})

test('a request that was refused can be repeated with its key', async () => {
  const key = randomUUID()
  expect((await ask(key, { flavorRef: '999' })).status).toBe(400)

  expect((await ask(key)).status).toBe(202)
})

describe('a delete that is sent again', () => {
  const NETWORKS = '/networking/v2.0'
  const made = async (answer: Promise<{ readonly body: object }>) => {
    const { body } = await answer
    return (Object.values(body)[0] as { readonly id: string }).id
  }
  /** Makes an object of each kind; returns its path. */
  const KINDS: Readonly<Record<string, (admin: ApiClient) => Promise<string>>> = {
    network: async () => {
      const id = await made(demo.post(`${NETWORKS}/networks`, { network: { name: 'gone' } }))
      return `${NETWORKS}/networks/${id}`
    },
    'security group': async () => {
      const group = { security_group: { name: randomUUID() } }
      return `${NETWORKS}/security-groups/${await made(demo.post(`${NETWORKS}/security-groups`, group))}`
    },
    'key pair': async () => {
      const name = randomUUID()
      await demo.post('/compute/v2.1/os-keypairs', { keypair: { name } })
      return `/compute/v2.1/os-keypairs/${name}`
    },
    image: async () => {
      const image = { name: 'gone', disk_format: 'raw', container_format: 'bare' }
      const { body } = await demo.post<{ id: string }>('/image/v2/images', image)
      return `/image/v2/images/${body.id}`
    },
    user: async (admin) => {
      const user = { user: { name: randomUUID(), password: randomUUID() } }
      return `/identity/v3/users/${await made(admin.post('/identity/v3/users', user))}`
    },
    aggregate: async (admin) => {
      const aggregate = { aggregate: { name: randomUUID() } }
      return `/compute/v2.1/os-aggregates/${await made(admin.post('/compute/v2.1/os-aggregates', aggregate))}`
    },
    server: async () => {
      const { body } = await askForServer(cloud, demo, { name: 'gone' })
      await untilStatus(demo, body.server.id, 'ACTIVE')
      return `${SERVERS}/${body.server.id}`
    },
  }

  test.each(Object.entries(KINDS))(
    'under the same key is answered as before, also by another gateway: %s',
    async (kind, make) => {
      const admin = cloud.as('admin')
      const path = await make(admin)
      const user = kind === 'user' || kind === 'aggregate' ? admin : demo
      const remove = (key: string, client = user, gateway = 0) =>
        client.delete(path, { headers: { 'idempotency-key': key }, gateway })
      const key = randomUUID()

      const first = await remove(key)
      await expect.poll(async () => (await user.get(path)).status).toBe(404)
      const again = await remove(key, user, 1)

      expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
      expect([again.status, again.body]).toEqual([first.status, first.body])
      expect((await remove(randomUUID())).status).toBe(404)
      expect((await user.delete(path)).status).toBe(404)
      expect((await remove(key, user === admin ? demo : admin)).status).not.toBe(first.status)
    },
  )

  test('is not answered as before where the first one deleted nothing', async () => {
    const path = `${NETWORKS}/networks/${randomUUID()}`
    const headers = { 'idempotency-key': randomUUID() }

    for (let nth = 0; nth < 2; nth += 1)
      expect((await demo.delete(path, { headers })).status).toBe(404)
  })

  test('deletes another object under the same key', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    for (const make of [KINDS['network']!, KINDS['network']!])
      expect((await demo.delete(await make(demo), { headers })).status).toBe(204)
  })

  test('is refused under a key that is too long', async () => {
    const path = `${NETWORKS}/networks/${randomUUID()}`
    const headers = { 'idempotency-key': 'k'.repeat(256) }
    expect((await demo.delete(path, { headers })).status).toBe(400)
  })
})
