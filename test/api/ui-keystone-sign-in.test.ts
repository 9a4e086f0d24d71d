import type { Hono } from 'hono'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { StubKeystone } from '#test/env/stub-keystone.ts'

// Goal: people sign in at the page with their password of an external Keystone. test/real/keystone.test.ts has a real one.

const PAGE = { 'x-weir-page': '1' }
const FAILURES_MAX = 3
const PASSWORD = 'correct horse'

let keystone: StubKeystone
let api: ComputeApi
let app: Hono

beforeAll(async () => {
  keystone = await StubKeystone.start()
  api = await computeApi('ui_keystone', [], {
    GATEWAY_IDENTITY_MODE: 'external',
    GATEWAY_IDENTITY_URL: keystone.url,
    GATEWAY_IDENTITY_USER: keystone.login.user,
    GATEWAY_IDENTITY_PASSWORD: keystone.login.password,
    GATEWAY_TRUSTED_PROXIES: '127.0.0.1',
    GATEWAY_LOGIN_FAILURES_MAX: String(FAILURES_MAX),
    GATEWAY_LOGIN_LOCKOUT_S: '86400',
  })
  app = createServer(api.gateway)
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await keystone?.[Symbol.asyncDispose]()
})

let nth = 0
/** A new user of the Keystone: its account has no failed attempts from other tests. */
let name: string

beforeEach(() => {
  nth += 1
  name = `ann-${nth}`
  keystone.addUser({
    name,
    password: PASSWORD,
    projects: ['lab', 'ops'],
    roles: ['member', 'reader'],
  })
})

interface Given {
  readonly body?: object
  readonly cookie?: string
  /** The address that a request comes from. */
  readonly peer?: string
}

async function call(method: string, path: string, { body, cookie, peer }: Given = {}) {
  const headers = {
    ...PAGE,
    ...(body && { 'content-type': 'application/json' }),
    ...(cookie && { cookie }),
    ...(peer && { 'x-forwarded-for': peer }),
  }
  const request = new Request(`http://cloud.test${path}`, {
    method,
    headers,
    body: body ? JSON.stringify(body) : null,
  })
  const incoming = {
    headers: { ...headers, ...(body && { 'content-length': String(JSON.stringify(body).length) }) },
    socket: { remoteAddress: '127.0.0.1' },
  }
  const answer = await app.fetch(request, { incoming })
  const text = await answer.text()
  const [pair] = answer.headers.get('set-cookie')?.split(';') ?? []
  return {
    status: answer.status,
    headers: answer.headers,
    cookie: pair,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const signIn = (more: object = {}, peer?: string) =>
  call('POST', '/ui/session', {
    body: { name, password: PASSWORD, ...more },
    ...(peer && { peer }),
  })

test('a user signs in, in the first project or the one that is named, and changes to another', async () => {
  const first = await signIn()
  expect(first).toMatchObject({
    status: 200,
    body: {
      user: { name },
      project: { name: 'lab' },
      is_admin: false,
      roles: ['member', 'reader'],
    },
  })
  expect(first.headers.get('set-cookie')).toMatch(/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/)
  expect(await signIn({ project: 'ops' })).toMatchObject({ body: { project: { name: 'ops' } } })

  const { cookie } = first
  const { body } = await call('GET', '/ui/session/projects', { cookie: cookie! })
  expect(body).toEqual({
    projects: [
      { id: 'lab', name: 'lab' },
      { id: 'ops', name: 'ops' },
    ],
  })
  const changed = await call('PUT', '/ui/session', { cookie: cookie!, body: { project: 'ops' } })
  expect(changed).toMatchObject({ status: 200, body: { project: { name: 'ops' } } })
  const servers = await call('GET', '/compute/v2.1/servers', { cookie: changed.cookie! })
  expect(servers).toMatchObject({ status: 200, body: { servers: [] } })
})

test('a default project comes first, and one without a role is refused', async () => {
  keystone.addUser({
    name,
    password: PASSWORD,
    projects: ['lab', 'ops'],
    roles: ['admin'],
    defaultProject: 'ops',
  })
  expect(await signIn()).toMatchObject({ body: { project: { name: 'ops' }, is_admin: true } })
  expect(await signIn({ project: 'other' })).toMatchObject({
    status: 403,
    cookie: undefined,
    body: { detail: 'You have no role in project other. Yours: lab, ops.' },
  })
})

test('signing out revokes the token at the Keystone', async () => {
  const { cookie } = await signIn()
  const token = cookie!.slice('weir_session='.length)
  expect(keystone.isValid(token)).toBe(true)

  expect(await call('DELETE', '/ui/session', { cookie: cookie! })).toMatchObject({
    status: 204,
    cookie: 'weir_session=',
  })
  expect(keystone.isValid(token)).toBe(false)
  expect((await call('GET', '/ui/session', { cookie: cookie! })).body).toBeNull()
})

test('wrong credentials get 401, and after too many the Keystone is not asked for that peer', async () => {
  const guess = (peer: string, as = name) => signIn({ name: as, password: 'guess' }, peer)
  const before = keystone.asked.users
  for (let failure = 0; failure < FAILURES_MAX; failure += 1)
    expect(await guess('192.0.2.1')).toMatchObject({
      status: 401,
      cookie: undefined,
      body: { detail: expect.stringContaining('does not accept') },
    })
  expect(keystone.asked.users - before).toBe(FAILURES_MAX)

  // Its database would take these for the same name.
  const asked = keystone.asked.users
  for (const as of [name, ` ${name.toUpperCase()}`])
    expect(await guess('192.0.2.1', as)).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining('too many failed logins') },
    })
  expect(await signIn({}, '192.0.2.1')).toMatchObject({ status: 401 })
  expect(keystone.asked.users).toBe(asked)

  expect(await signIn({}, '192.0.2.2')).toMatchObject({ status: 200 })
})

test('guesses that are made at once count as those made one after the other', async () => {
  const before = keystone.asked.users
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => signIn({ password: 'guess' }, '192.0.2.3')),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401))
  // Those that were under way when the last of these was answered.
  expect(keystone.asked.users - before).toBeLessThan(FAILURES_MAX + 4)
})

test('many who sign in from one address do not keep another waiting, and get 429 beyond a limit', async () => {
  const held = Promise.withResolvers<void>()
  keystone.beforeLogin = () => held.promise
  const before = keystone.asked.users
  const crowd = Array.from({ length: 120 }, (_, each) => {
    const as = `crowd-${each}`
    keystone.addUser({ name: as, password: PASSWORD, projects: ['lab'], roles: ['member'] })
    return signIn({ name: as }, '192.0.2.4')
  })
  const refused: number[] = []
  for (const each of crowd)
    void each.then(({ status }) => void (status === 200 || refused.push(status)))
  // Four are under way, and a hundred wait.
  await expect.poll(() => refused.length).toBe(16)
  expect(keystone.asked.users - before).toBe(4)

  const other = signIn({}, '192.0.2.5')
  await expect.poll(() => refused.length).toBe(17)
  held.resolve()

  expect(await other).toMatchObject({ status: 200 })
  await Promise.all(crowd)
  expect(refused).toEqual(Array.from({ length: 17 }, () => 429))
})

test('a user who needs a second proof in the Keystone is told so, and is not locked out', async () => {
  keystone.addUser({
    name,
    password: PASSWORD,
    projects: ['lab'],
    roles: ['member'],
    needsMore: true,
  })
  for (let times = 0; times <= FAILURES_MAX; times += 1)
    expect(await signIn()).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining('more than a password') },
    })
})

test('while the Keystone does not answer, sign-ins get 503 and signing out forgets the session', async () => {
  const { cookie } = await signIn()
  await keystone[Symbol.asyncDispose]()

  const refused = await signIn({ password: 'a right one, or not' })
  expect(refused).toMatchObject({
    status: 503,
    cookie: undefined,
    body: { detail: 'The identity service does not answer. Please try again in a while.' },
  })
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(JSON.stringify(refused.body)).not.toContain('a right one')
  expect(await call('DELETE', '/ui/session', { cookie: cookie! })).toMatchObject({
    status: 503,
    cookie: 'weir_session=',
  })
})
