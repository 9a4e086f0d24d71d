import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { listen } from '#gateway/listen.ts'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'
import { type HttpApi, type IdentityWorld, identityWorld, passwordAuth } from './identity-world.ts'

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
let http: HttpApi
let token: string

beforeAll(async () => {
  world = await identityWorld()
  const url = new URL(world.databaseUrl)
  route = new CuttableRoute(new URL(url))
  url.port = String(await route.listen())
  url.hostname = '127.0.0.1'
  http = await world.addGateway({ GATEWAY_DATABASE_URL: url.href })
  const { admin, demo } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword: admin, demoPassword: demo })
  token = await http.logIn('admin', admin)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await route?.[Symbol.asyncDispose]()
})

const statusOf = async (path: string) => (await http.ask('GET', path, { token })).status

test('without its database a gateway answers 503 with Retry-After, lives, and recovers by itself', async () => {
  expect([await statusOf('/v3/regions'), await statusOf('/readyz')]).toEqual([200, 200])

  route.cut()

  await expect.poll(() => statusOf('/v3/users')).toBe(503)
  // A token known from before is honoured only while revocations can be read.
  await expect.poll(() => statusOf('/v3/regions')).toBe(503)
  const refused = await http.ask('GET', '/v3/regions', { token })
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503])

  route.mend()

  await expect.poll(() => statusOf('/v3/regions')).toBe(200)
  expect(await statusOf('/readyz')).toBe(200)
})

test('/version needs no token, and /metrics that of an operator', async () => {
  const version = await http.ask('GET', '/version')
  const strange = await http.ask('GET', '/metrics')
  const metrics = await http.ask('GET', '/metrics', { token })

  expect(version.body).toMatchObject({ microversions: { min: '2.1' } })
  expect([strange.status, metrics.status]).toEqual([401, 200])
  expect(metrics.body).toContain('api_request_duration_seconds_count{method="GET"')
})

test('the plain document of the API is served', async () => {
  const { status, body } = await http.ask('GET', '/openapi/identity.json')

  expect(status).toBe(200)
  expect(JSON.stringify(body)).not.toContain('x-policy')
})

test.each([
  ['/nothing', 'error'],
  ['/compute/v2.1/nothing', 'message code title'],
  ['/networking/v2.0/nothing', 'NeutronError'],
])('%s, which is not there, answers 404 as its service words it', async (path, envelope) => {
  const { status, body, headers } = await http.ask('GET', path, { token })

  expect([status, Object.keys(body)]).toEqual([404, envelope.split(' ')])
  expect(headers.get('x-openstack-request-id')).toMatch(/^req-/)
})

test('/metrics is read with the token of settings, and with no other', async () => {
  const metricsToken = 'read-by-monitoring'
  const watched = await world.addGateway({ GATEWAY_METRICS_TOKEN: metricsToken })
  const read = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    const { status, headers: answerHeaders } = await watched.ask('GET', '/metrics', { headers })
    return [status, answerHeaders.get('www-authenticate')]
  }

  expect(await read(`Bearer ${metricsToken}`)).toEqual([200, null])
  for (const other of [undefined, 'Bearer wrong', 'Bearer ', `Basic ${metricsToken}`])
    expect(await read(other)).toEqual([401, 'Bearer realm="metrics"'])
})

test('without the bus a gateway is not ready, and is again once it is back', async () => {
  const { natsUrl } = await testServices()
  await using relay = await Relay.open(natsUrl)
  const cutOff = await world.addGateway({ GATEWAY_NATS_URL: relay.url })
  const ready = async () => (await cutOff.ask('GET', '/readyz')).body

  expect(await ready()).toEqual({ status: 'ready' })
  relay.set('refuse')
  await expect.poll(ready).toMatchObject({ reason: 'the bus does not answer' })
  relay.set('pass')
  await expect.poll(ready).toEqual({ status: 'ready' })
})

test('a peer that hangs up in the middle of a body causes no error in the log', async () => {
  const { gateway } = http
  const errors = vi.spyOn(gateway.log, 'error')
  const warnings = vi.spyOn(gateway.log, 'warn')
  await using listening = await listen(gateway)
  const socket = connect(listening.port, listening.host)
  socket.on('error', () => {})
  socket.write(
    'POST /identity/v3/auth/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n',
  )
  socket.write('Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n')
  // The server reads the body by now.
  expect(String((await once(socket, 'data'))[0])).toContain('100 Continue')
  socket.write('{"auth":')

  socket.destroy()

  const answers = async () =>
    (await gateway.metrics.registry.metrics()).match(/_count\{method="POST".*status="400"/g)
  await expect.poll(answers).toHaveLength(1)
  expect([...errors.mock.calls, ...warnings.mock.calls]).toEqual([])
})

test('a user who requests too many tokens is told when to retry', async () => {
  const strict = await world.addGateway({ GATEWAY_USER_TOKENS_PER_MINUTE: '2' })
  const { demo } = world.passwords
  const ask = () => strict.ask('POST', '/v3/auth/tokens', { body: passwordAuth('demo', demo) })
  expect([(await ask()).status, (await ask()).status]).toEqual([201, 201])

  const { status, headers, body } = await ask()

  expect([status, body]).toMatchObject([429, { error: { code: 429 } }])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(30)
})

test('by default a project has 60,000 requests a minute, and no more', () => {
  const { requestLimiter } = http.gateway
  const taken = Array.from({ length: 60_000 }, () => requestLimiter?.take('busy'))

  expect(new Set(taken)).toEqual(new Set([0]))
  const waits = Array.from({ length: 60_000 }, () => requestLimiter?.take('busy') ?? 0)
  expect(waits.some((waitMs) => waitMs > 0)).toBe(true)
})
