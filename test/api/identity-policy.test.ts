import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { administrator, clientOf, IdentityClient } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

const PASSWORD = 'a long enough password'
/** Each with one role in one scope. `d` is the domain of the things asked for, `default` another one. */
const CALLERS = [
  ['cloud admin', 'admin', 'project'],
  ['system admin', 'admin', 'system'],
  ['system reader', 'reader', 'system'],
  ['domain admin', 'admin', 'd'],
  ['domain manager', 'manager', 'd'],
  ['domain member', 'member', 'd'],
  ['domain reader', 'reader', 'd'],
  ['stranger manager', 'manager', 'default'],
  ['project manager', 'manager', 'project'],
  ['project member', 'member', 'project'],
  ['unscoped', 'admin', 'none'],
] as const
type CallerName = (typeof CALLERS)[number][0]

const ADMINS: readonly CallerName[] = ['cloud admin', 'system admin']
const SYSTEM_READERS: readonly CallerName[] = [...ADMINS, 'system reader']
const MANAGERS: readonly CallerName[] = [...ADMINS, 'domain admin', 'domain manager']
const READERS: readonly CallerName[] = [
  ...SYSTEM_READERS,
  'domain admin',
  'domain manager',
  'domain member',
  'domain reader',
]
const EVERYBODY = CALLERS.map(([name]) => name)
/** A list has only objects that the caller may see, so a manager of another domain gets one too. */
const LISTERS: readonly CallerName[] = [...READERS, 'stranger manager']

const ids: Record<string, string> = {}
const callers = new Map<CallerName, IdentityClient>()
let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
  const domain = await admin.create('domains', { name: 'd' })
  const within = { domain_id: domain.id }
  ids['d'] = domain.id
  ids['default'] = 'default'
  for (const plural of ['projects', 'users', 'groups'])
    ids[plural] = (await admin.create(plural, { name: 'thing', ...within })).id
  for (const { id, name } of await admin.list('/v3/roles')) ids[name] = id
  ids['domainRole'] = (await admin.create('roles', { name: 'own', ...within })).id
  const home = await admin.create('projects', { name: 'home' })
  for (const [name, role, scope] of CALLERS)
    callers.set(name, await callerFor(name, role, scope, home.id))
})

afterAll(() => world?.[Symbol.asyncDispose]())

async function callerFor(
  name: string,
  role: string,
  scope: string,
  homeId: string,
): Promise<IdentityClient> {
  const { id } = await admin.create('users', { name, password: PASSWORD })
  const isDomain = scope === 'd' || scope === 'default'
  const target = isDomain
    ? `domains/${ids[scope]}`
    : scope === 'project'
      ? `projects/${homeId}`
      : 'system'
  await admin.expect(204, 'PUT', `/v3/${target}/users/${id}/roles/${ids[role]}`)
  const scopes: Readonly<Record<string, unknown>> = {
    project: { project: { id: homeId } },
    system: { system: { all: true } },
    none: 'unscoped',
  }
  const wanted = isDomain ? { domain: { id: ids[scope] } } : scopes[scope]
  return clientOf(http, id, PASSWORD, wanted)
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Walk = readonly [method: Method, path: string, allowed: readonly CallerName[], body?: object]

/** Every object is in the domain `d`. Writes have an empty body or name a missing object, so that nothing changes. */
const WALK: readonly Walk[] = [
  ['GET', '/v3/domains', LISTERS],
  ['GET', '/v3/domains/{d}', READERS],
  ['POST', '/v3/domains', ADMINS, {}],
  ['PATCH', '/v3/domains/none', ADMINS, { domain: { name: 'x' } }],
  ['DELETE', '/v3/domains/none', ADMINS],
  ['GET', '/v3/projects', LISTERS],
  ['GET', '/v3/projects/{projects}', READERS],
  ['POST', '/v3/projects', MANAGERS, { project: { name: 'thing', domain_id: '{d}' } }],
  ['PATCH', '/v3/projects/{projects}', MANAGERS, { project: { enabled: true } }],
  ['GET', '/v3/projects/{projects}/tags', READERS],
  ['PUT', '/v3/projects/{projects}/tags', MANAGERS, { tags: [] }],
  ['PUT', '/v3/projects/{projects}/tags/t', MANAGERS],
  ['GET', '/v3/projects/{projects}/tags/t', READERS],
  ['DELETE', '/v3/projects/{projects}/tags', MANAGERS],
  ['GET', '/v3/users', LISTERS],
  ['GET', '/v3/users/{users}', READERS],
  ['GET', '/v3/users/{users}/projects', READERS],
  ['GET', '/v3/users/{users}/groups', READERS],
  ['POST', '/v3/users', MANAGERS, { user: { name: 'thing', domain_id: '{d}' } }],
  ['PATCH', '/v3/users/{users}', MANAGERS, { user: { enabled: true } }],
  ['GET', '/v3/users/{users}/application_credentials', SYSTEM_READERS],
  ['GET', '/v3/users/{users}/access_rules', SYSTEM_READERS],
  [
    'POST',
    '/v3/users/{users}/application_credentials',
    [],
    { application_credential: { name: 'x' } },
  ],
  ['GET', '/v3/groups', LISTERS],
  ['GET', '/v3/groups/{groups}', READERS],
  ['POST', '/v3/groups', MANAGERS, { group: { name: 'thing', domain_id: '{d}' } }],
  ['PATCH', '/v3/groups/{groups}', MANAGERS, { group: { name: 'thing' } }],
  ['GET', '/v3/groups/{groups}/users', READERS],
  ['PUT', '/v3/groups/{groups}/users/{users}', MANAGERS],
  ['GET', '/v3/groups/{groups}/users/{users}', READERS],
  ['DELETE', '/v3/groups/{groups}/users/{users}', MANAGERS],
  ['GET', '/v3/roles', LISTERS],
  ['GET', '/v3/roles/{member}', LISTERS],
  ['GET', '/v3/roles/{domainRole}', READERS],
  ['GET', '/v3/roles?domain_id={d}', READERS],
  ['POST', '/v3/roles', ADMINS, {}],
  ['PATCH', '/v3/roles/none', ADMINS, { role: { name: 'x' } }],
  ['DELETE', '/v3/roles/none', ADMINS],
  ['GET', '/v3/roles/{member}/implies', SYSTEM_READERS],
  ['PUT', '/v3/roles/{member}/implies/none', ADMINS],
  ['GET', '/v3/role_inferences', SYSTEM_READERS],
  ['GET', '/v3/role_assignments', LISTERS],
  ['GET', '/v3/projects/{projects}/users/{users}/roles', READERS],
  ['PUT', '/v3/projects/{projects}/users/{users}/roles/{member}', MANAGERS],
  ['PUT', '/v3/projects/{projects}/users/{users}/roles/{domainRole}', MANAGERS],
  // Only the administrators of the cloud make others, and let anybody reach beyond the domain.
  ['PUT', '/v3/projects/{projects}/users/{users}/roles/{admin}', ADMINS],
  ['DELETE', '/v3/projects/{projects}/users/{users}/roles/{admin}', ADMINS],
  ['PUT', '/v3/domains/default/users/{users}/roles/{reader}', ADMINS],
  ['PUT', '/v3/domains/{d}/groups/{groups}/roles/{manager}', MANAGERS],
  [
    'PUT',
    '/v3/OS-INHERIT/domains/{d}/groups/{groups}/roles/{reader}/inherited_to_projects',
    MANAGERS,
  ],
  ['PUT', '/v3/system/users/{users}/roles/{reader}', ADMINS],
  ['GET', '/v3/system/users/{users}/roles', SYSTEM_READERS],
  ['DELETE', '/v3/system/groups/{groups}/roles/none', ADMINS],
  ['GET', '/v3/regions', EVERYBODY],
  ['POST', '/v3/regions', ADMINS, {}],
  ['GET', '/v3/services', SYSTEM_READERS],
  ['POST', '/v3/services', ADMINS, {}],
  ['PATCH', '/v3/services/none', ADMINS, { service: { name: 'x' } }],
  ['GET', '/v3/endpoints', SYSTEM_READERS],
  ['DELETE', '/v3/endpoints/none', ADMINS],
  ['GET', '/v3/auth/catalog', EVERYBODY],
  ['GET', '/v3/auth/projects', EVERYBODY],
]

describe('each operation is allowed to the roles and scopes of its rule', () => {
  const walk = WALK.map(([method, path, allowed, body]) => ({ method, path, allowed, body }))
  test.each(walk)('$method $path', async ({ method, path, allowed, body }) => {
    const filled = (text: string) =>
      text.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name)
    const sent = body && (JSON.parse(filled(JSON.stringify(body))) as unknown)
    const seen: CallerName[] = []
    for (const [name, client] of callers) {
      const { status } = await client.send(method, filled(path), sent)
      if (status !== 403) seen.push(name)
    }

    expect(seen).toEqual(EVERYBODY.filter((name) => allowed.includes(name)))
  })
})

test('a token for a domain does not reveal which objects exist in others', async () => {
  const [mine] = await admin.list('/v3/users?name=demo')
  const manager = callers.get('domain manager')
  for (const id of [mine?.id, 'nobody'])
    expect(await manager?.expect(403, 'GET', `/v3/users/${id}`)).toContain('identity:get_user')
  const names = ((await manager?.list('/v3/users')) ?? []).map(({ name }) => name)
  expect(names).toEqual(['thing'])
  expect(await manager?.list('/v3/users?domain_id=default')).toEqual([])
  expect((await manager?.list('/v3/domains'))?.map(({ name }) => name)).toEqual(['d'])
})

describe('managers of the domain of the administrators', () => {
  type Attempt = readonly [path: string, method: Method, body?: object]
  let group: string
  let cloudAdmin: string
  let project: string

  beforeAll(async () => {
    group = (await admin.create('groups', { name: 'administrators' })).id
    cloudAdmin = (await admin.create('users', { name: 'by group', password: PASSWORD })).id
    project = (await admin.create('projects', { name: 'control' })).id
    await admin.expect(204, 'PUT', `/v3/groups/${group}/users/${cloudAdmin}`)
    await admin.expect(204, 'PUT', `/v3/projects/${project}/groups/${group}/roles/${ids['admin']}`)
  })

  /** On what brings roles that managers do not give. */
  const attempts = (): readonly Attempt[] => [
    [`/v3/users/${cloudAdmin}`, 'PATCH', { user: { password: 'another long password' } }],
    [`/v3/users/${cloudAdmin}`, 'PATCH', { user: { enabled: false } }],
    [`/v3/users/${cloudAdmin}`, 'PATCH', { user: { name: 'renamed' } }],
    [`/v3/users/${cloudAdmin}`, 'DELETE'],
    [`/v3/groups/${group}/users/${ids['usersOfDefault']}`, 'PUT'],
    [`/v3/groups/${group}/users/${cloudAdmin}`, 'DELETE'],
    [`/v3/groups/${group}`, 'PATCH', { group: { name: 'renamed' } }],
    [`/v3/groups/${group}`, 'DELETE'],
    [`/v3/projects/${project}`, 'PATCH', { project: { enabled: false } }],
    [`/v3/projects/${project}`, 'DELETE'],
    [`/v3/projects/${project}/users/${ids['usersOfDefault']}/roles/${ids['admin']}`, 'PUT'],
  ]

  test.each(['stranger manager', 'domain admin of default'])(
    'reaches no role above its own: %s',
    async (name) => {
      ids['usersOfDefault'] ??= (
        await admin.create('users', { name: 'plain', password: PASSWORD })
      ).id
      const role = name === 'stranger manager' ? 'manager' : 'admin'
      const manager = await callerFor(`${name} of administrators`, role, 'default', project)

      for (const [path, method, body] of attempts()) {
        const message = await manager.expect(403, method, path, body)
        expect(message, `${method} ${path}`).toMatch(/administrator/)
      }

      const user = `/v3/users/${ids['usersOfDefault']}`
      await manager.expect(200, 'PATCH', user, { user: { description: 'changed' } })
    },
  )

  test('nor one on the system, nor the management of another domain', async () => {
    const manager = callers.get('stranger manager')!
    const [system, elsewhere] = [
      (await admin.create('users', { name: 'of the system' })).id,
      (await admin.create('users', { name: 'of another domain' })).id,
    ]
    await admin.expect(204, 'PUT', `/v3/system/users/${system}/roles/${ids['reader']}`)
    const grants = `/v3/domains/${ids['d']}/users/${elsewhere}/roles`
    await admin.expect(204, 'PUT', `${grants}/${ids['member']}`)
    await manager.expect(200, 'PATCH', `/v3/users/${elsewhere}`, { user: { description: 'x' } })
    await admin.expect(204, 'PUT', `${grants}/${ids['manager']}`)

    for (const id of [system, elsewhere])
      await manager.expect(403, 'PATCH', `/v3/users/${id}`, { user: { password: PASSWORD } })
  })
})
