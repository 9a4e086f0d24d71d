import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

// Goal: a gateway that is cut off from its database or the bus asks for no more requests, and gives back to the proxy those
// that another gateway can serve without doing anything twice. Where no gateway can, users learn why, and when to retry.

const PROXY = { 'weir-proxy-repeats': '425' }

let world: IdentityWorld
let databases: readonly Relay[]
let bus: Relay
let gateways: readonly HttpApi[]
let token: string

beforeAll(async () => {
  world = await identityWorld()
  const { natsUrl } = await testServices()
  bus = await Relay.open(natsUrl)
  databases = [
    await Relay.open(world.databaseUrl),
    await Relay.open(world.databaseUrl),
    await Relay.open(world.databaseUrl),
  ]
  const [one, other, third] = databases.map(({ url }) => ({
    GATEWAY_DATABASE_URL: url,
    GATEWAY_DATABASE_RETRY_MS: '2000',
  }))
  gateways = [
    await world.addGateway({ ...one, GATEWAY_NATS_URL: bus.url }),
    await world.addGateway(other),
    await world.addGateway({ ...third, GATEWAY_DATABASE_RETRY_MS: '20000' }),
  ]
  const { admin, demo } = world.passwords
  await bootstrapIdentity(gateways[0]!.gateway.db, { adminPassword: admin, demoPassword: demo })
  token = await gateways[0]!.logIn('admin', admin)
})

afterAll(async () => {
  for (const relay of [...databases, bus]) relay.set('pass')
  await world?.[Symbol.asyncDispose]()
  for (const relay of [...databases, bus]) await relay[Symbol.asyncDispose]()
})

beforeEach(async () => {
  for (const relay of [...databases, bus]) relay.set('pass')
  for (const nth of [0, 1, 2]) await expect.poll(() => rotation(nth)).toBe(200)
})

async function rotation(nth: number): Promise<number> {
  return (await gateways[nth]!.app.request('http://cloud.test/rotation')).status
}

interface Sent {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The place of the gateway. */
  readonly at?: number
}

/** The status, and the `Retry-After`, of what a gateway answers; 425 is in no document. */
async function answered(
  path: string,
  { method = 'GET', body, headers = PROXY, at = 0 }: Sent = {},
) {
  const init = {
    method,
    headers: { 'x-auth-token': token, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  const answer = await gateways[at]!.app.request(`http://cloud.test${path}`, init)
  return [answer.status, answer.headers.get('retry-after')]
}

const userNamed = (name: string) => ({ user: { name, password: 'a long enough password' } })

async function usersNamed(name: string): Promise<number> {
  const { body } = await gateways[1]!.ask('GET', `/v3/users?name=${name}`, { token })
  return (body['users'] as unknown as readonly object[]).length
}

test('a gateway that alone misses its database leaves the rotation, and gives back what it has done nothing for', async () => {
  databases[0]!.set('hold')
  const waiting = answered('/v3/users')

  await expect.poll(() => rotation(0)).toBe(404)
  expect(await waiting).toEqual([425, '5'])
  const body = userNamed('made-elsewhere')
  expect(await answered('/v3/users', { method: 'POST', body })).toEqual([425, '5'])
  expect(await answered('/v3/users', { headers: {} })).toEqual([503, '5'])
  expect([await rotation(1), await usersNamed('made-elsewhere')]).toEqual([200, 0])
})

test('a gateway keeps a request that is too long for a proxy to repeat, until it reaches its database', async () => {
  databases[2]!.set('hold')
  const headers = { ...PROXY, 'transfer-encoding': 'chunked' }
  const body = userNamed('made-here-later')
  const long = answered('/v3/users', { method: 'POST', body, headers, at: 2 })
  expect(await answered('/v3/users', { at: 2 })).toEqual([425, '5'])
  expect(await usersNamed('made-here-later')).toBe(0)

  databases[2]!.set('pass')

  expect(await long).toEqual([201, null])
  expect(await usersNamed('made-here-later')).toBe(1)
})

test('where all gateways miss the database, each answers 503 itself', async () => {
  for (const relay of databases) relay.set('refuse')
  for (const nth of [0, 1]) await expect.poll(() => rotation(nth)).toBe(404)

  await expect.poll(() => answered('/v3/users')).toEqual([503, '5'])
})

test('a gateway that misses the bus leaves the rotation, and serves what needs no bus', async () => {
  bus.set('refuse')

  await expect.poll(() => rotation(0)).toBe(404)
  expect(await answered('/v3/users')).toEqual([200, null])
})
