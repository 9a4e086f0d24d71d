import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import {
  type HttpApi,
  type IdentityWorld,
  identityWorld,
  type Json,
  passwordAuth,
} from './identity-world.ts'

let world: IdentityWorld
let http: HttpApi
let other: HttpApi
let admin: string
let demo: string

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  other = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await http.logIn('admin', adminPassword)
  demo = await http.logIn('demo', demoPassword)
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

describe('discovery', () => {
  test.each(['/', '/identity', '/identity/'])(
    'GET %s answers 300 with a double envelope',
    async (path) => {
      const { status, body } = await http.ask('GET', path)

      expect(status).toBe(300)
      expect(body['versions']!['values']).toMatchObject([
        {
          id: 'v3.14',
          status: 'stable',
          links: [{ rel: 'self', href: 'http://cloud.test:8774/identity/v3/' }],
        },
      ])
    },
  )

  test.each(['/v3', '/v3/', '/identity/v3', '/identity/v3/'])(
    'GET %s shows the version',
    async (path) => {
      const { status, body } = await http.ask('GET', path)

      expect(status).toBe(200)
      expect(body['version']!['id']).toBe('v3.14')
    },
  )
})

describe('tokens', () => {
  test('a password gets a token scoped to the default project, with roles, implied ones included, and a catalog', async () => {
    const { status, headers, body } = await http.ask('POST', '/v3/auth/tokens', {
      body: passwordAuth('admin', world.passwords.admin),
    })

    expect(status).toBe(201)
    expect(headers.get('x-subject-token')).toMatch(/^[\w-]{43}$/)
    expect(body).toMatchObject({
      token: {
        methods: ['password'],
        user: { name: 'admin', domain: { id: 'default', name: 'Default' } },
        project: { name: 'admin', domain: { id: 'default' } },
        is_domain: false,
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
      },
    })
    expect(namesOf(body['token']?.['roles'])).toEqual(['admin', 'manager', 'member', 'reader'])
  })

  test('the catalog has unversioned image and network URLs, and both spellings of the region', async () => {
    const { body } = await http.ask('GET', '/v3/auth/catalog', { token: demo })

    const catalog = body['catalog'] as unknown as readonly {
      type: string
      endpoints: readonly { interface: string; url: string; region: string; region_id: string }[]
    }[]
    const urls = Object.fromEntries(
      catalog.map(({ type, endpoints }) => [type, [...new Set(endpoints.map(({ url }) => url))]]),
    )
    expect(urls).toEqual({
      identity: ['http://cloud.test:8774/identity/v3'],
      compute: ['http://cloud.test:8774/compute/v2.1'],
      image: ['http://cloud.test:8774/image'],
      network: ['http://cloud.test:8774/networking'],
      federation: ['http://cloud.test:8774/federation'],
      placement: ['http://cloud.test:8774/placement'],
      'block-storage': ['http://cloud.test:8774/volume/v3'],
      volumev3: ['http://cloud.test:8774/volume/v3'],
    })
    for (const { endpoints } of catalog) {
      expect(endpoints.map((endpoint) => endpoint.interface)).toEqual([
        'public',
        'internal',
        'admin',
      ])
      for (const { region, region_id } of endpoints)
        expect([region, region_id]).toEqual(['RegionOne', 'RegionOne'])
    }
  })

  test.each([
    ['unscoped', 'unscoped', { roles: undefined, catalog: undefined, project: undefined }],
    ['the system', { system: { all: true } }, { system: { all: true }, project: undefined }],
  ])('a token for %s shows that scope', async (_name, scope, expected) => {
    const { body } = await http.ask('POST', '/v3/auth/tokens', {
      body: passwordAuth('admin', world.passwords.admin, scope),
    })

    const token = body['token'] as Record<string, unknown>
    for (const [key, value] of Object.entries(expected)) expect(token[key]).toEqual(value)
  })

  test.each([
    ['a wrong password', passwordAuth('admin', 'wrong')],
    ['an unknown user', passwordAuth('nobody', 'wrong')],
    ['a project without a role', 'project'],
    ['an unknown project', 'unknown'],
    ['the system without a role', 'system'],
  ])('%s gets the same 401 in Keystone’s envelope', async (_name, request) => {
    const scopes = {
      project: { project: { name: 'admin', domain: { id: 'default' } } },
      unknown: { project: { name: 'nothing', domain: { name: 'Default' } } },
      system: { system: { all: true } },
    }
    const body =
      typeof request === 'string'
        ? passwordAuth('demo', world.passwords.demo, scopes[request as keyof typeof scopes])
        : request

    const reply = await http.ask('POST', '/v3/auth/tokens', { body })

    expect(reply.status).toBe(401)
    expect(reply.body).toEqual({
      error: {
        code: 401,
        title: 'Unauthorized',
        message: 'The credentials or the requested scope are not valid.',
      },
    })
    expect(reply.headers.get('www-authenticate')).toBe(
      'Keystone uri="http://cloud.test:8774/identity"',
    )
  })

  test('a token is rescoped without living longer, and keeps its audit chain', async () => {
    const unscoped = await http.logIn('admin', world.passwords.admin, 'unscoped')
    const before = await http.ask('GET', '/v3/auth/tokens', {
      token: unscoped,
      headers: { 'x-subject-token': unscoped },
    })

    const after = await http.ask('POST', '/v3/auth/tokens', {
      body: {
        auth: {
          identity: { methods: ['token'], token: { id: unscoped } },
          scope: { project: { name: 'demo', domain: { name: 'Default' } } },
        },
      },
    })

    expect(after.status).toBe(201)
    expect(after.body['token']).toMatchObject({
      methods: ['password', 'token'],
      project: { name: 'demo' },
      expires_at: before.body['token']?.['expires_at'],
    })
    const auditIds = (body: Json) => (body['token']?.['audit_ids'] ?? []) as readonly string[]
    expect(auditIds(after.body)[1]).toBe(auditIds(before.body)[0])
  })

  test('?nocatalog leaves the catalog out', async () => {
    const { body } = await http.ask('POST', '/v3/auth/tokens?nocatalog', {
      body: passwordAuth('demo', world.passwords.demo),
    })

    expect(body['token']).not.toHaveProperty('catalog')
    expect(body['token']).toHaveProperty('roles')
  })

  test('HEAD distinguishes a valid token from an unknown one', async () => {
    const valid = await http.ask('HEAD', '/v3/auth/tokens', {
      token: admin,
      headers: { 'x-subject-token': demo },
    })
    const unknown = await http.ask('HEAD', '/v3/auth/tokens', {
      token: admin,
      headers: { 'x-subject-token': 'nothing' },
    })

    expect([valid.status, unknown.status]).toEqual([200, 404])
  })

  test('a user cannot look into another user’s token', async () => {
    const answers = [admin, 'nobodys'].map((subject) =>
      http.ask('GET', '/v3/auth/tokens', {
        token: demo,
        headers: { 'x-subject-token': subject },
      }),
    )

    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([403, 404])
  })

  test('tokens are stored by their hash only', async () => {
    const [rows] = await http.gateway.db.orm.execute('SELECT * FROM tokens')

    expect(JSON.stringify(rows)).not.toContain(admin)
  })
})

describe('revocation', () => {
  test('a revoked token is refused here at once and soon at another gateway', async () => {
    const token = await http.logIn('demo', world.passwords.demo)
    expect((await other.ask('GET', '/v3/auth/projects', { token })).status).toBe(200)

    const revoked = await http.ask('DELETE', '/v3/auth/tokens', {
      token,
      headers: { 'x-subject-token': token },
    })

    expect(revoked.status).toBe(204)
    expect((await http.ask('GET', '/v3/auth/projects', { token })).status).toBe(401)
    await expect
      .poll(async () => (await other.ask('GET', '/v3/auth/projects', { token })).status, {
        interval: 20,
      })
      .toBe(401)
  })

  test('a token ends by itself', async () => {
    const token = await other.logIn('demo', world.passwords.demo)
    await http.gateway.db.orm.execute(
      `UPDATE tokens SET expires_at = UTC_TIMESTAMP(3) WHERE id = SHA2('${token}', 256)`,
    )

    expect((await http.ask('GET', '/v3/auth/projects', { token })).status).toBe(401)
  })
})

describe('rules', () => {
  test.each([
    ['/v3/users', 403, 200],
    ['/v3/projects', 403, 200],
    ['/v3/role_assignments', 403, 200],
    ['/v3/roles', 403, 200],
    ['/v3/domains', 403, 200],
    ['/v3/services', 403, 200],
    ['/v3/endpoints', 403, 200],
    ['/v3/regions', 200, 200],
    ['/v3/auth/projects', 200, 200],
    ['/v3/auth/domains', 200, 200],
    ['/v3/auth/system', 200, 200],
  ])(
    'GET %s answers a member %i and an administrator %i, and a stranger 401',
    async (path, member, administrator) => {
      const statuses = await Promise.all([
        http.ask('GET', path, { token: demo }),
        http.ask('GET', path, { token: admin }),
        http.ask('GET', path),
      ])

      expect(statuses.map(({ status }) => status)).toEqual([member, administrator, 401])
    },
  )

  test('headers that claim an identity change nothing', async () => {
    const { status } = await http.ask('GET', '/v3/users', {
      token: demo,
      headers: { 'x-roles': 'admin', 'x-user-id': 'x', 'x-identity-status': 'Confirmed' },
    })

    expect(status).toBe(403)
  })

  test('lists are filtered by exact name, and lists of names are as clients look them up', async () => {
    const byName = await http.ask('GET', '/v3/users?name=demo', { token: admin })
    const byId = await http.ask('GET', '/v3/users/demo', { token: admin })
    const none = await http.ask('GET', '/v3/projects?name=de', { token: admin })

    expect(namesOf(byName.body['users'])).toEqual(['demo'])
    expect(byId.status).toBe(404)
    expect(none.body['projects']).toEqual([])
  })

  test('role assignments show names when asked, and implied roles when effective', async () => {
    const found = await http.ask('GET', '/v3/users?name=demo', { token: admin })
    const [user] = found.body['users'] as unknown as readonly { id: string }[]
    const path = `/v3/role_assignments?user.id=${user?.id}&include_names=True`

    const plain = await http.ask('GET', path, { token: admin })
    const effective = await http.ask('GET', `${path}&effective`, { token: admin })

    const rolesOf = (body: unknown) =>
      (body as { role_assignments: readonly { role: { name: string } }[] }).role_assignments.map(
        ({ role }) => role.name,
      )
    expect(rolesOf(plain.body)).toEqual(['member'])
    expect(rolesOf(effective.body).toSorted()).toEqual(['member', 'reader'])
  })
})

describe('bootstrap', () => {
  test('a second time changes nothing, the passwords included', async () => {
    const again = await bootstrapIdentity(http.gateway.db, {
      adminPassword: 'other',
      demoPassword: 'other',
    })

    expect(again).toMatchObject({ adminExisted: true, demoExisted: true })
    expect(await http.logIn('admin', world.passwords.admin)).toBeTruthy()
  })
})

function namesOf(list: unknown): readonly string[] {
  return (list as readonly { readonly name: string }[]).map(({ name }) => name)
}
