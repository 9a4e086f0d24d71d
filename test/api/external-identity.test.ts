import type { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { StubKeystone } from '#test/env/stub-keystone.ts'

// Goal: users of an external Keystone are users of Weir. A real Keystone is in test/real/keystone.test.ts.

const FLAVORS = '/compute/v2.1/flavors'

let api: ComputeApi
let app: Hono
let keystone: StubKeystone

beforeAll(async () => {
  keystone = await StubKeystone.start()
  api = await computeApi('external_identity', [], {
    GATEWAY_IDENTITY_MODE: 'external',
    GATEWAY_IDENTITY_URL: keystone.url,
    GATEWAY_IDENTITY_USER: keystone.login.user,
    GATEWAY_IDENTITY_PASSWORD: keystone.login.password,
  })
  app = createServer(api.gateway)
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await keystone?.[Symbol.asyncDispose]()
})

const as = async (token: string, path = FLAVORS, init: RequestInit = {}) =>
  app.request(path, { ...init, headers: { 'x-auth-token': token } })

const flavor = async (token: string, name: string) =>
  app.request(FLAVORS, {
    method: 'POST',
    headers: { 'x-auth-token': token, 'content-type': 'application/json' },
    body: JSON.stringify({ flavor: { name, vcpus: 1, ram: 64, disk: 0 } }),
  })

test('tokens are looked up once, by a gateway that logs in once and again when it must', async () => {
  const token = keystone.give('lab', ['member'])
  const answers = await Promise.all(Array.from({ length: 10 }, () => as(token)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(keystone.asked).toMatchObject({ logins: 1, tokens: 1 })

  keystone.forgetLogins()
  expect((await as(keystone.give('lab', ['member']))).status).toBe(200)
  expect(keystone.asked).toMatchObject({ logins: 2, tokens: 2 })
})

test('roles and projects are those that it says', async () => {
  const admin = keystone.give('ops', ['admin', 'member', 'reader'])
  expect((await flavor(keystone.give('lab', ['member']), 'mine')).status).toBe(403)
  expect((await flavor(admin, 'theirs')).status).toBe(200)
  const limits = `/compute/v2.1/os-quota-sets/${'a'.repeat(32)}`
  expect((await as(admin, limits)).status).toBe(200)
  expect((await as(keystone.give('lab', ['member']), limits)).status).toBe(403)
  const quota = await as(admin, `/federation/v1/projects/${'a'.repeat(32)}/quota`)
  expect(await quota.json()).toMatchObject({ project_id: 'a'.repeat(32), project: null })
})

test('an application credential with access rules has the rights of these rules', async () => {
  const access_rules = [{ id: '1', service: 'compute', method: 'GET', path: '/v2.1/flavors' }]
  const token = keystone.give('lab', ['member'], { application_credential: { access_rules } })
  expect((await as(token)).status).toBe(200)
  expect((await as(token, '/compute/v2.1/servers')).status).toBe(403)
})

test('a refused client learns where the identity service is, which is not here', async () => {
  const refused = await as('of nobody')
  expect(refused.status).toBe(401)
  expect(refused.headers.get('www-authenticate')).toBe(`Keystone uri="${keystone.url}/v3"`)
  const here = await app.request('/identity/v3/auth/tokens', { method: 'POST', body: '{}' })
  expect(here.status).toBe(404)
  expect(await here.text()).toContain(keystone.url)
})

test('without it known tokens go on, and others get 503', async () => {
  const known = keystone.give('lab', ['member'])
  const unknown = keystone.give('lab', ['member'])
  await as(known)
  await keystone[Symbol.asyncDispose]()

  expect((await as(known)).status).toBe(200)
  const refused = await as(unknown)
  expect(refused.status).toBe(503)
  expect(await refused.text()).toContain('The identity service does not answer.')
})
