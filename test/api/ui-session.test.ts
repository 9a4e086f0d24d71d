import type { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { sessionToken } from '#gateway/http/session-cookie.ts'
import { type IdentityWorld, identityWorld } from './identity-world.ts'

let world: IdentityWorld
let app: Hono

beforeAll(async () => {
  world = await identityWorld()
  const api = await world.addGateway()
  const { admin, demo } = world.passwords
  await bootstrapIdentity(api.gateway.db, { adminPassword: admin, demoPassword: demo })
  app = api.app
})

afterAll(() => world?.[Symbol.asyncDispose]())

const PAGE = { 'x-weir-page': '1' }

async function call(
  method: string,
  path: string,
  {
    body,
    headers = PAGE,
  }: { readonly body?: object; readonly headers?: Record<string, string> } = {},
) {
  const json = body && { 'content-type': 'application/json' }
  const init = {
    method,
    headers: { ...headers, ...json },
    body: body ? JSON.stringify(body) : null,
  }
  const answer = await app.request(`http://cloud.test:8774${path}`, init)
  const text = await answer.text()
  const cookie = answer.headers.get('set-cookie')
  return { status: answer.status, cookie, body: text === '' ? undefined : JSON.parse(text) }
}

const session = (method: string, options = {}) => call(method, '/ui/session', options)

async function signedIn(name: 'admin' | 'demo') {
  const { cookie } = await session('POST', { body: { name, password: world.passwords[name] } })
  return { ...PAGE, cookie: cookie!.split(';')[0]! }
}

test('a user signs in, and the token is in a cookie that scripts and other sites do not get', async () => {
  const { status, cookie, body } = await session('POST', {
    body: { name: 'demo', password: world.passwords.demo },
  })

  expect(status).toBe(200)
  expect(body).toMatchObject({ user: { name: 'demo' }, project: { name: 'demo' }, is_admin: false })
  expect(cookie).toMatch(
    /^weir_session=[^;]{20,}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/,
  )
  expect(JSON.stringify(body)).not.toContain(cookie!.split(/[=;]/)[1])
})

test('behind HTTPS the cookie goes over HTTPS alone', async () => {
  const { app: secure } = await world.addGateway({ GATEWAY_PUBLIC_URL: 'https://cloud.test/weir' })

  const answer = await secure.request('/ui/session', {
    method: 'POST',
    headers: { ...PAGE, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'demo', password: world.passwords.demo }),
  })

  expect(answer.headers.get('set-cookie')).toMatch(/; Path=\/weir; .*; Secure$/)
})

test('the cookie counts for requests of the page alone, and until the user signs out', async () => {
  const headers = await signedIn('demo')
  const projects = (asked: Record<string, string>) =>
    call('GET', '/identity/v3/auth/projects', { headers: asked })

  expect((await projects(headers)).status).toBe(200)
  expect((await projects({ cookie: headers.cookie })).status).toBe(401)
  expect((await session('GET', { headers: { cookie: headers.cookie } })).body).toBeNull()
  expect((await session('GET', { headers })).body.user.name).toBe('demo')

  const out = await session('DELETE', { headers })

  expect(out).toMatchObject({
    status: 204,
    cookie: expect.stringContaining('Expires=Thu, 01 Jan 1970'),
  })
  expect((await projects(headers)).status).toBe(401)
})

test('a page of another site cannot sign a user in, and a token may contain equals signs', async () => {
  const body = { name: 'demo', password: world.passwords.demo }
  expect(await session('POST', { body, headers: {} })).toMatchObject({ status: 400, cookie: null })

  const header = (name: string) => ({ ...PAGE, cookie: 'a=b; weir_session=gAAA==; c=d' })[name]
  expect(sessionToken(header)).toBe('gAAA==')
})

test('a wrong password, an unknown project and an odd body are refused, and say why', async () => {
  const { demo: password } = world.passwords

  expect(await session('POST', { body: { name: 'demo', password: 'wrong' } })).toMatchObject({
    status: 401,
    cookie: null,
    body: { detail: expect.stringMatching(/./) },
  })
  expect(
    await session('POST', { body: { name: 'demo', password, project: 'admin' } }),
  ).toMatchObject({
    status: 403,
    cookie: null,
    body: { detail: 'You have no role in project admin. Yours: demo.' },
  })
  expect(await session('POST', { body: { name: ['demo'] } })).toMatchObject({ status: 400 })
  expect(await session('POST', { body: { nonsense: 'x' } })).toMatchObject({ status: 400 })
  expect(await session('PUT', { body: { project: 'demo' } })).toMatchObject({ status: 401 })
  expect(await call('GET', '/ui/session/projects')).toMatchObject({ status: 401 })
})

test('a token signs in as well, and one that is not valid does not', async () => {
  const { cookie } = await signedIn('admin')
  const token = cookie.slice(cookie.indexOf('=') + 1)

  expect(await session('POST', { body: { token } })).toMatchObject({
    status: 200,
    body: { user: { name: 'admin' }, is_admin: true },
  })
  expect(await session('POST', { body: { token: 'nonsense' } })).toMatchObject({
    status: 401,
    cookie: null,
  })
})

test('a user changes to another project', async () => {
  const headers = await signedIn('admin')

  const changed = await session('PUT', { headers, body: { project: 'admin' } })

  expect(changed).toMatchObject({ status: 200, body: { project: { name: 'admin' } } })
  expect(changed.cookie).toMatch(/^weir_session=/)
  const projects = await call('GET', '/ui/session/projects', { headers })
  expect(projects.body.projects).toContainEqual({ id: expect.any(String), name: 'admin' })
})
