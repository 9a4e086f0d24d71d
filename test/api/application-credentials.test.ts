import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { IdentityClient, type Shown } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'
import { textOf } from './json.ts'

const CREDENTIAL_LIFE_MS = 60_000
const CREDENTIALS_MAX = 100

let world: IdentityWorld
let http: HttpApi
let demo: string

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  demo = await http.logIn('demo', demoPassword)
})

afterAll(() => world?.[Symbol.asyncDispose]())

test('an application credential logs in as its user in its project, with the roles given, and not after its deletion', async () => {
  const userId = (await tokenOf(demo)).user.id
  const made = await http.ask('POST', `/v3/users/${userId}/application_credentials`, {
    token: demo,
    body: { application_credential: { name: 'ci', roles: [{ name: 'reader' }] } },
  })
  expect(made.status).toBe(201)
  const { id, secret } = made.body['application_credential'] as unknown as {
    id: string
    secret: string
  }

  const login = await http.ask('POST', '/v3/auth/tokens', {
    body: {
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { id, secret },
        },
      },
    },
  })
  const token = login.headers.get('x-subject-token') ?? ''
  expect(login.status).toBe(201)
  expect(login.body['token']).toMatchObject({
    project: { name: 'demo' },
    application_credential: { id, name: 'ci', restricted: true },
  })
  expect(namesOf(login.body['token']?.['roles'])).toEqual(['reader'])

  const another = await http.ask('POST', `/v3/users/${userId}/application_credentials`, {
    token,
    body: { application_credential: { name: 'more' } },
  })
  const shown = await http.ask('GET', `/v3/users/${userId}/application_credentials/${id}`, {
    token: demo,
  })
  expect(another.status).toBe(403)
  expect(shown.body['application_credential']).not.toHaveProperty('secret')

  const gone = await http.ask('DELETE', `/v3/users/${userId}/application_credentials/${id}`, {
    token: demo,
  })
  expect(gone.status).toBe(204)
  expect((await http.ask('GET', '/v3/auth/projects', { token })).status).toBe(401)
})

test('a token got with an application credential ends with it, and no later', async () => {
  const userId = (await tokenOf(demo)).user.id
  const expiresAt = new Date(Date.now() + CREDENTIAL_LIFE_MS)
  const made = await http.ask('POST', `/v3/users/${userId}/application_credentials`, {
    token: demo,
    body: { application_credential: { name: 'short', expires_at: expiresAt.toISOString() } },
  })
  const { id, secret, expires_at } = made.body['application_credential'] as unknown as {
    id: string
    secret: string
    expires_at: string
  }
  expect(expires_at).toBe(expiresAt.toISOString().replace('Z', '000'))
  const identity = {
    methods: ['application_credential'],
    application_credential: { id, secret },
  }

  const login = await http.ask('POST', '/v3/auth/tokens', { body: { auth: { identity } } })

  expect(login.status).toBe(201)
  const ends = textOf(login.body['token']?.['expires_at'])
  expect(Date.parse(ends)).toBeLessThanOrEqual(expiresAt.getTime())
})

test.each([
  ['a role the token lacks', { name: 'a', roles: [{ name: 'admin' }] }, 400],
  ['an end in the past', { name: 'a', expires_at: '2020-01-01T00:00:00' }, 400],
  ['no name', {}, 400],
  ['an unknown field', { name: 'a', colour: 'red' }, 400],
])('an application credential with %s is refused', async (_name, credential, status) => {
  const userId = (await tokenOf(demo)).user.id

  const reply = await http.ask('POST', `/v3/users/${userId}/application_credentials`, {
    token: demo,
    body: { application_credential: credential },
  })

  expect(reply.status).toBe(status)
})

test('access rules are the only requests a token makes, and are kept for other credentials', async () => {
  const userId = (await tokenOf(demo)).user.id
  const client = new IdentityClient(http, demo)
  const path = `/v3/users/${userId}/application_credentials`
  const rules = [
    { service: 'identity', method: 'GET', path: '/v3/auth/*' },
    { service: 'compute', method: 'GET', path: '/v2.1/servers/**' },
  ]
  const made = await client.send('POST', path, {
    application_credential: { name: 'watch', access_rules: rules },
  })
  const { id, secret, access_rules } = made.body['application_credential'] as unknown as {
    id: string
    secret: string
    access_rules: readonly { id: string }[]
  }
  expect(access_rules).toMatchObject(rules)
  const identity = { methods: ['application_credential'], application_credential: { id, secret } }
  const login = await http.ask('POST', '/v3/auth/tokens', { body: { auth: { identity } } })
  const watcher = new IdentityClient(http, login.headers.get('x-subject-token') ?? '')
  expect(login.body['token']?.['application_credential']).toMatchObject({ access_rules: rules })

  await watcher.expect(200, 'GET', '/v3/auth/projects')
  const refusal = await watcher.expect(403, 'GET', `/v3/users/${userId}`)
  expect(refusal).toContain('access rules do not allow GET /v3/users/')

  const list = `/v3/users/${userId}/access_rules`
  const [first] = await client.list(list)
  await client.expect(403, 'DELETE', `${list}/${first?.id}`)
  const again = await client.send('POST', path, {
    application_credential: { name: 'again', access_rules: [{ id: first?.id }, rules[1]] },
  })
  expect(again.status).toBe(201)
  expect(await client.list(list)).toHaveLength(2)
  await client.expect(400, 'POST', path, {
    application_credential: { name: 'part', access_rules: [{ service: 'compute' }] },
  })
  await client.expect(404, 'POST', path, {
    application_credential: { name: 'none', access_rules: [{ id: 'none' }] },
  })
  for (const credential of [id, (again.body['application_credential'] as unknown as Shown).id])
    await client.expect(204, 'DELETE', `${path}/${credential}`)
  await client.expect(204, 'DELETE', `${list}/${first?.id}`)
  await client.expect(404, 'GET', `${list}/${first?.id}`)
})

test('a user has a bounded number of credentials in a project', async () => {
  const { user } = await tokenOf(demo)
  const path = `/v3/users/${user.id}/application_credentials`
  const client = new IdentityClient(http, demo)
  await client.expect(201, 'POST', path, { application_credential: { name: 'first' } })
  await http.gateway.db.orm.execute(
    "INSERT INTO application_credentials SELECT CONCAT(c.id, s.seq), user_id, project_id, CONCAT(name, s.seq), description, secret_hash, unrestricted, role_ids, access_rule_ids, expires_at, created_at FROM application_credentials c, seq_1_to_98 s WHERE name = 'first'",
  )
  const before = (await client.list(path)).length
  for (let n = before; n < CREDENTIALS_MAX; n += 1)
    await client.expect(201, 'POST', path, { application_credential: { name: `more-${n}` } })

  const refusal = await client.expect(403, 'POST', path, {
    application_credential: { name: 'over' },
  })

  expect(refusal).toContain(`maximum of ${CREDENTIALS_MAX}`)
})

async function tokenOf(token: string): Promise<{ readonly user: { readonly id: string } }> {
  const { body } = await http.ask('GET', '/v3/auth/tokens', {
    token,
    headers: { 'x-subject-token': token },
  })
  return body['token'] as unknown as { readonly user: { readonly id: string } }
}

function namesOf(list: unknown): readonly string[] {
  return (list as readonly { readonly name: string }[]).map(({ name }) => name)
}
