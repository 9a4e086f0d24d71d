import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { linksSource } from '#gateway/http/links.ts'
import { normalPath } from '#gateway/http/normal-path.ts'
import type { Call } from '#gateway/http/operation.ts'
import { registerRoutes } from '#gateway/http/routes.ts'
import { SERVICES } from '#gateway/http/services.ts'
import { contractOf } from '#openapi/contract.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

const SERVER = '01234567-89ab-cdef-0123-456789abcdef'

let world: IdentityWorld
let app: Hono
let http: HttpApi
let token: string
let unscoped: string
/** The calls that reached a handler, by operation. */
const calls: { readonly id: string; readonly call: Call }[] = []

/** The whole Compute document, served by handlers that record the call and give the answer that a test sets. */
let answer: () => Promise<object> = () => Promise.resolve({})

beforeAll(async () => {
  world = await identityWorld()
  const identity = await world.addGateway()
  const { admin, demo } = world.passwords
  const passwords = { adminPassword: admin, demoPassword: demo }
  await bootstrapIdentity(identity.gateway.db, passwords)
  token = await identity.logIn('demo', demo)
  unscoped = await identity.logIn('admin', admin, 'unscoped')

  const contract = contractOf('compute')
  const handlers = Object.fromEntries(
    contract.operations.map(({ id }) => [
      id,
      (call: Call) => {
        calls.push({ id, call })
        return answer()
      },
    ]),
  )
  app = new Hono({ getPath: normalPath })
  const linksOf = linksSource(undefined, () => false)
  registerRoutes(app, { service: SERVICES.compute, contract, handlers }, identity.gateway, linksOf)
  http = new HttpApi(identity.gateway, app)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

function lastCall(): { readonly id: string; readonly call: Call } {
  const last = calls.at(-1)
  if (last === undefined) throw new Error('no handler was called')
  return last
}

describe('microversions', () => {
  test('the one used is echoed in both headers, and in Vary', async () => {
    answer = () => Promise.resolve({ body: { keypairs: [] } })

    const { status, headers } = await http.ask('GET', '/compute/v2.1/os-keypairs', {
      token,
      headers: { 'openstack-api-version': 'compute 2.35' },
    })

    expect(status).toBe(200)
    expect(headers.get('openstack-api-version')).toBe('compute 2.35')
    expect(headers.get('x-openstack-nova-api-version')).toBe('2.35')
    expect(headers.get('vary')).toBe('OpenStack-API-Version, X-OpenStack-Nova-API-Version')
    expect(lastCall().call.context.microversion).toBe('2.35')
  })

  test.each([
    ['2.999', 406, 'computeFault', `${MIN} to ${MAX}`],
    ['two', 400, 'badRequest', 'malformed'],
  ])('%s answers %i', async (version, status, name, text) => {
    const reply = await http.ask('GET', '/compute/v2.1/os-keypairs', {
      token,
      headers: { 'x-openstack-nova-api-version': version },
    })

    expect(reply.status).toBe(status)
    expect(reply.body[name]).toMatchObject({ message: expect.stringContaining(text) as string })
  })

  test('an operation the microversion lacks is not found', async () => {
    const at = (version: string) =>
      http.ask('GET', `/compute/v2.1/servers/${SERVER}/tags`, {
        token,
        headers: { 'x-openstack-nova-api-version': version },
      })
    answer = () => Promise.resolve({ body: { tags: [] } })

    expect([(await at('2.25')).status, (await at('2.26')).status]).toEqual([404, 200])
  })

  test('the status of success follows the microversion', async () => {
    answer = () => Promise.resolve({})
    const at = (version: string) =>
      http.ask('DELETE', '/compute/v2.1/os-keypairs/k', {
        token,
        headers: { 'x-openstack-nova-api-version': version },
      })

    expect([(await at('2.1')).status, (await at('2.2')).status]).toEqual([202, 204])
  })
})

describe('the way of a request', () => {
  test('without a token: 401 in keystonemiddleware’s envelope, and where to get one', async () => {
    const { status, body, headers } = await http.ask('GET', '/compute/v2.1/servers')

    expect(status).toBe(401)
    expect(body).toMatchObject({ error: { code: 401, title: 'Unauthorized' } })
    expect(headers.get('www-authenticate')).toContain('http://cloud.test:8774/identity')
  })

  test('the rule is checked before the body is looked at', async () => {
    const { status, body } = await http.ask('POST', '/compute/v2.1/flavors', {
      token,
      body: '{',
    })

    expect(status).toBe(403)
    expect(JSON.stringify(body)).toContain('os_compute_api:os-flavor-manage:create')
  })

  test('a malformed body answers 400, one that is too large 413', async () => {
    const malformed = await http.ask('POST', '/compute/v2.1/servers', {
      token,
      body: '{"server":',
    })
    const large = await http.ask('POST', '/compute/v2.1/servers', {
      token,
      body: `"${'x'.repeat(1_100_000)}"`,
    })

    expect([malformed.status, malformed.body['badRequest']?.['message']]).toEqual([
      400,
      'Malformed request body: it is not valid JSON.',
    ])
    expect([large.status, Object.keys(large.body)]).toEqual([413, ['overLimit']])
  })

  test('a wrong field is named', async () => {
    const { status, body } = await http.ask('POST', '/compute/v2.1/os-keypairs', {
      token,
      body: { keypair: { name: 'k', colour: 'red' } },
    })

    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain('colour')
  })

  test.each([
    ['os-stop', { 'os-stop': null }, 'os_compute_api:servers:stop'],
    ['reboot', { reboot: { type: 'HARD' } }, 'os_compute_api:servers:reboot'],
  ])('the action %s is found by its key, and its own rule holds', async (_name, body, rule) => {
    answer = () => Promise.resolve({})
    const path = `/compute/v2.1/servers/${SERVER}/action`

    const allowed = await http.ask('POST', path, { token, body })
    const refused = await http.ask('POST', path, { token: unscoped, body })

    expect(allowed.status).toBe(202)
    expect(lastCall().call.params).toEqual({ server_id: SERVER })
    expect([refused.status, JSON.stringify(refused.body).includes(rule)]).toEqual([403, true])
  })

  test.each([{ nothing: null }, { 'os-stop': null, 'os-start': null }, {}, []])(
    'the action body %j is refused',
    async (body) => {
      const path = `/compute/v2.1/servers/${SERVER}/action`

      expect((await http.ask('POST', path, { token, body })).status).toBe(400)
    },
  )

  test('a project in the path is routed alike, and must be the token’s', async () => {
    answer = () => Promise.resolve({ body: { keypairs: [] } })
    const { projectId } = (await http.gateway.identity.viewOf(token))?.caller ?? {}
    const foreign = 'f'.repeat(32)

    const own = await http.ask('GET', `/compute/v2.1/${projectId}/os-keypairs`, { token })
    const other = await http.ask('GET', `/compute/v2.1/${foreign}/os-keypairs`, { token })

    expect([own.status, other.status]).toEqual([200, 400])
  })

  test('a request id of the exact form is kept, any other replaced', async () => {
    const given = 'req-01234567-89ab-cdef-0123-456789abcdef'
    const ask = async (id: string) => {
      const path = '/compute/v2.1/servers'
      const { headers } = await http.ask('GET', path, {
        headers: { 'x-openstack-request-id': id },
      })
      expect(headers.get('x-compute-request-id')).toBe(headers.get('x-openstack-request-id'))
      return headers.get('x-openstack-request-id')
    }

    expect(await ask(given)).toBe(given)
    expect(await ask(`${given}; drop`)).toMatch(/^req-[0-9a-f-]{36}$/)
    expect(await ask(`${given}; drop`)).not.toContain('drop')
  })

  test.each([
    ['unavailable', 503],
    ['conflict', 409],
    ['internal', 500],
  ] as const)('a handler’s failure of kind %s answers %i', async (kind, status) => {
    answer = () => Promise.reject(new Failure(kind, 'Text.', { detail: 'hidden' }))

    // Not through the http, which takes no 500 for an answer.
    const path = '/compute/v2.1/os-keypairs'
    const reply = await app.request(path, { headers: { 'x-auth-token': token } })

    expect(reply.status).toBe(status)
    expect(await reply.text()).not.toContain('hidden')
    expect(reply.headers.has('retry-after')).toBe(status === 503)
  })
})

test('every request is counted by the path of the document', async () => {
  const text = await http.gateway.metrics.registry.metrics()

  expect(text).toContain('route="/compute/v2.1/servers/{server_id}/action",status="202"')
  expect(text).not.toContain(SERVER)
})
