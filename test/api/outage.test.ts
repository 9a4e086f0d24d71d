import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { type Face, type IdentityWorld, identityWorld } from './identity-world.ts'

/** A way to the database that can be cut: the run's MariaDB serves other tests, too. */
class CuttableRoute implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  constructor(target: URL) {
    this.#server = createServer((inner) => {
      if (this.#isCut) {
        inner.destroy()
        return
      }
      const outer = connect(Number(target.port), target.hostname)
      for (const socket of [inner, outer]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      inner.pipe(outer).pipe(inner)
    })
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#isCut = false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

let world: IdentityWorld
let route: CuttableRoute
let face: Face
let token: string

beforeAll(async () => {
  world = await identityWorld()
  const url = new URL(world.databaseUrl)
  route = new CuttableRoute(new URL(url))
  url.port = String(await route.listen())
  url.hostname = '127.0.0.1'
  face = await world.addGateway({ GATEWAY_DATABASE_URL: url.href })
  const { admin, demo } = world.passwords
  await bootstrapIdentity(face.gateway.db, { adminPassword: admin, demoPassword: demo })
  token = await face.logIn('admin', admin)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await route?.[Symbol.asyncDispose]()
})

const statusOf = async (path: string) => (await face.ask('GET', path, { token })).status

test('without its database a gateway answers 503 with Retry-After, lives, and recovers by itself', async () => {
  expect([await statusOf('/v3/regions'), await statusOf('/readyz')]).toEqual([200, 200])

  route.cut()

  await expect.poll(() => statusOf('/v3/users')).toBe(503)
  // A token known from before is honoured only while revocations are heard of.
  await expect.poll(() => statusOf('/v3/regions')).toBe(503)
  const refused = await face.ask('GET', '/v3/regions', { token })
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503])

  route.mend()

  await expect.poll(() => statusOf('/v3/regions')).toBe(200)
  expect(await statusOf('/readyz')).toBe(200)
})

test('/version needs no token, and /metrics that of an operator', async () => {
  const version = await face.ask('GET', '/version')
  const strange = await face.ask('GET', '/metrics')
  const metrics = await face.ask('GET', '/metrics', { token })

  expect(version.body).toMatchObject({ microversions: { min: '2.1' } })
  expect([strange.status, metrics.status]).toEqual([401, 200])
  expect(metrics.body).toContain('api_request_duration_seconds_count{method="GET"')
})

test('the plain document of the API is served', async () => {
  const { status, body } = await face.ask('GET', '/openapi/identity.json')

  expect(status).toBe(200)
  expect(JSON.stringify(body)).not.toContain('x-policy')
})

test.each([
  ['/nothing', 'error'],
  ['/compute/v2.1/nothing', 'message code title'],
  ['/networking/v2.0/nothing', 'NeutronError'],
])('%s, which is not there, answers 404 as its service words it', async (path, envelope) => {
  const { status, body, headers } = await face.ask('GET', path, { token })

  expect([status, Object.keys(body)]).toEqual([404, envelope.split(' ')])
  expect(headers.get('x-openstack-request-id')).toMatch(/^req-/)
})
