import type { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { ADMIN_PASSWORD, RealKeystone, whyNoKeystone } from '#test/env/real-keystone.ts'

// Goal: Debian's Keystone behaves like the stub of test/api/external-identity.test.ts.

const why = isFullRun ? whyNoKeystone() : 'external identity is tested with a stub'
const FLAVORS = '/compute/v2.1/flavors'
const LIMIT_MS = 600_000

describe.skipIf(why !== undefined)(
  `Debian’s Keystone${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let keystone: RealKeystone
    let api: ComputeApi
    let app: Hono
    let admin: string

    beforeAll(async () => {
      keystone = await RealKeystone.start()
      api = await computeApi('real_keystone', [], {
        GATEWAY_IDENTITY_MODE: 'external',
        GATEWAY_IDENTITY_URL: keystone.url,
        GATEWAY_IDENTITY_USER: 'admin',
        GATEWAY_IDENTITY_PROJECT: 'admin',
        GATEWAY_IDENTITY_PASSWORD: ADMIN_PASSWORD,
        GATEWAY_IDENTITY_CACHE_S: '0',
      })
      app = createServer(api.gateway)
      admin = await logIn('admin', { project: { name: 'admin', domain: { name: 'Default' } } })
    }, LIMIT_MS)

    afterAll(async () => {
      await api?.[Symbol.asyncDispose]()
      await keystone?.[Symbol.asyncDispose]()
    }, LIMIT_MS)

    async function logIn(name: string, scope?: object): Promise<string> {
      const user = { name, password: ADMIN_PASSWORD, domain: { name: 'Default' } }
      const identity = { methods: ['password'], password: { user } }
      const body = { auth: { identity, ...(scope === undefined ? {} : { scope }) } }
      return (await keystone.ask('POST', '/auth/tokens', { body })).token
    }

    const as = async (token: string, path = FLAVORS) =>
      app.request(path, { headers: { 'x-auth-token': token } })
    const makeFlavor = async (token: string, name: string) =>
      app.request(FLAVORS, {
        method: 'POST',
        headers: { 'x-auth-token': token, 'content-type': 'application/json' },
        body: JSON.stringify({ flavor: { name, vcpus: 1, ram: 64, disk: 0 } }),
      })

    test('reads the tokens of a project, of the system, and without a scope', async () => {
      expect((await as(admin)).status).toBe(200)
      expect((await makeFlavor(admin, 'one')).status).toBe(200)
      expect((await as(await logIn('admin', { system: { all: true } }))).status).toBe(200)
      expect((await as('no token of anybody')).status).toBe(401)
    })

    test('an application credential has the rights of its roles and rules, until it is revoked', async () => {
      const subject = await keystone.ask('GET', '/auth/tokens', { token: admin, subject: admin })
      const userId = (subject.body['token'] as unknown as { user: { id: string } }).user.id
      const credential = async (name: string, more: object) => {
        const application_credential = { name, secret: 'hidden', ...more }
        const path = `/users/${userId}/application_credentials`
        const made = await keystone.ask('POST', path, {
          token: admin,
          body: { application_credential },
        })
        const { id } = made.body['application_credential']!
        const methods = ['application_credential']
        const identity = { methods, application_credential: { id, secret: 'hidden' } }
        return (await keystone.ask('POST', '/auth/tokens', { body: { auth: { identity } } })).token
      }
      const member = await credential('member', { roles: [{ name: 'member' }] })
      const flavors = await as(member)
      expect([flavors.status, await flavors.text()]).toEqual([200, expect.any(String)])
      expect((await makeFlavor(member, 'two')).status).toBe(403)
      const access_rules = [{ service: 'compute', method: 'GET', path: '/v2.1/flavors' }]
      const limited = await credential('limited', { access_rules })
      expect((await as(limited)).status).toBe(200)
      expect((await as(limited, '/compute/v2.1/servers')).status).toBe(403)

      await keystone.ask('DELETE', '/auth/tokens', { token: admin, subject: member })
      expect((await as(member)).status).toBe(401)
    })

    test('its users sign in at the page, and out', async () => {
      const session = async (method: string, body?: object, cookie = '') => {
        const headers = { 'x-weir-page': '1', 'content-type': 'application/json', cookie }
        const content = body === undefined ? {} : { body: JSON.stringify(body) }
        return app.request('/ui/session', { method, headers, ...content })
      }
      const login = { name: 'admin', password: ADMIN_PASSWORD }
      expect((await session('POST', { ...login, password: 'wrong' })).status).toBe(401)
      expect((await session('POST', { ...login, domain: 'Nowhere' })).status).toBe(401)
      expect((await session('POST', { ...login, project: 'other' })).status).toBe(403)
      const first = await session('POST', login)
      expect(await first.json()).toMatchObject({ project: { name: 'admin' }, is_admin: true })

      const named = await session('POST', { ...login, project: 'admin' })
      const [cookie] = named.headers.get('set-cookie')!.split(';')
      expect((await session('PUT', { project: 'admin' }, cookie)).status).toBe(200)
      expect((await session('DELETE', undefined, cookie)).status).toBe(204)
      expect(await (await session('GET', undefined, cookie)).json()).toBeNull()
      expect((await as(cookie!.slice('weir_session='.length))).status).toBe(401)
    })
  },
)
