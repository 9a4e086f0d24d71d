import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { administrator, clientOf, type IdentityClient, type Shown } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

const PASSWORD = 'a long enough password'
/** Every gateway follows a change of who may do what within this. */

let world: IdentityWorld
let http: HttpApi
let other: HttpApi
let admin: IdentityClient
let user: Shown
let group: Shown
let project: Shown
const roles: Record<string, string> = {}

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  other = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
  for (const { id, name } of await admin.list('/v3/roles')) roles[name] = id
  user = await admin.create('users', { name: 'una', password: PASSWORD })
  group = await admin.create('groups', { name: 'crew' })
  await admin.expect(204, 'PUT', `/v3/groups/${group.id}/users/${user.id}`)
  project = await admin.create('projects', { name: 'site' })
})

afterAll(() => world?.[Symbol.asyncDispose]())

const inProject = (id: string) => ({ project: { id } })

/** The roles of a token for the scope; undefined when the scope cannot be had. */
async function rolesIn(scope: unknown): Promise<readonly string[] | undefined> {
  const body = {
    auth: {
      identity: { methods: ['password'], password: { user: { id: user.id, password: PASSWORD } } },
      scope,
    },
  }
  const reply = await http.ask('POST', '/v3/auth/tokens', { body })
  if (reply.status === 401) return undefined
  return (reply.body['token']!['roles'] as unknown as Shown[]).map(({ name }) => name).toSorted()
}

test('roles are made, changed and deleted; those from the start are immutable', async () => {
  const role = await admin.create('roles', { name: 'auditor' })
  expect(role).toMatchObject({ domain_id: null, description: '', options: {} })
  await admin.expect(409, 'POST', '/v3/roles', { role: { name: 'auditor' } })
  const changed = await admin.update('roles', role.id, { name: 'inspector', description: 'looks' })
  expect(changed).toMatchObject({ name: 'inspector', description: 'looks' })
  const tagged = await admin.update('roles', role.id, { team: 'audit', floor: 3 })
  expect(tagged).toMatchObject({ name: 'inspector', team: 'audit', floor: 3 })
  await admin.update('roles', role.id, { floor: null })
  const { floor: _, ...rest } = tagged
  expect(await admin.show('roles', role.id)).toEqual(rest)
  await admin.expect(204, 'DELETE', `/v3/roles/${role.id}`)
  await admin.expect(404, 'GET', `/v3/roles/${role.id}`)

  expect(await admin.show('roles', roles['member'] ?? '')).toMatchObject({
    options: { immutable: true },
  })
  await admin.expect(403, 'PATCH', `/v3/roles/${roles['member']}`, { role: { name: 'x' } })
})

test('a role implies another, and its user has both, but no role implies admin', async () => {
  const boss = await admin.create('roles', { name: 'boss' })
  const path = `/v3/roles/${boss.id}/implies`
  await admin.expect(404, 'GET', `${path}/${roles['member']}`)
  await admin.expect(201, 'PUT', `${path}/${roles['member']}`)
  await admin.expect(200, 'GET', `${path}/${roles['member']}`)
  await admin.expect(403, 'PUT', `${path}/${roles['admin']}`)
  await admin.expect(400, 'PUT', `${path}/${boss.id}`)
  const { body } = await admin.send('GET', path)
  expect(body['role_inference']).toMatchObject({ implies: [{ name: 'member' }] })
  const rules = (await admin.list('/v3/role_inferences')) as unknown as readonly {
    prior_role: Shown
  }[]
  expect(rules.map(({ prior_role }) => prior_role.name).toSorted()).toEqual([
    'admin',
    'boss',
    'manager',
    'member',
  ])

  const grant = `/v3/projects/${project.id}/users/${user.id}/roles/${boss.id}`
  await admin.expect(204, 'PUT', grant)
  expect(await rolesIn(inProject(project.id))).toEqual(['boss', 'member', 'reader'])
  await admin.expect(204, 'DELETE', `${path}/${roles['member']}`)
  await admin.expect(404, 'DELETE', `${path}/${roles['member']}`)
  expect(await rolesIn(inProject(project.id))).toEqual(['boss'])
  await admin.expect(204, 'DELETE', `/v3/roles/${boss.id}`)
  expect(await rolesIn(inProject(project.id))).toBeUndefined()
})

describe('a grant is made, checked, listed, has its effect, and ends', () => {
  test.each([
    [
      'a user',
      'in a project',
      () => `projects/${project.id}/users/${user.id}`,
      () => inProject(project.id),
    ],
    [
      'a group',
      'in a project',
      () => `projects/${project.id}/groups/${group.id}`,
      () => inProject(project.id),
    ],
    [
      'a user',
      'in a domain',
      () => `domains/default/users/${user.id}`,
      () => ({ domain: { id: 'default' } }),
    ],
    [
      'a group',
      'in a domain',
      () => `domains/default/groups/${group.id}`,
      () => ({ domain: { name: 'Default' } }),
    ],
    ['a user', 'on the system', () => `system/users/${user.id}`, () => ({ system: { all: true } })],
    [
      'a group',
      'on the system',
      () => `system/groups/${group.id}`,
      () => ({ system: { all: true } }),
    ],
    [
      'a user',
      'below a domain',
      () => `OS-INHERIT/domains/default/users/${user.id}`,
      () => inProject(project.id),
    ],
    [
      'a group',
      'below a domain',
      () => `OS-INHERIT/domains/default/groups/${group.id}`,
      () => inProject(project.id),
    ],
  ])('to %s %s', async (_actor, _where, place, scope) => {
    const isInherited = place().startsWith('OS-INHERIT')
    const tail = isInherited ? '/inherited_to_projects' : ''
    const list = `/v3/${place()}/roles${tail}`
    const grant = `/v3/${place()}/roles/${roles['reader']}${tail}`

    expect(await rolesIn(scope())).toBeUndefined()
    await admin.expect(404, 'GET', grant)
    await admin.expect(204, 'PUT', grant)
    await admin.expect(204, 'PUT', grant)
    await admin.expect(204, 'GET', grant)
    expect(await admin.list(list, 'roles')).toMatchObject([{ name: 'reader' }])
    expect(await rolesIn(scope())).toEqual(['reader'])
    await admin.expect(204, 'DELETE', grant)
    await admin.expect(404, 'DELETE', grant)
    expect(await admin.list(list, 'roles')).toEqual([])
    expect(await rolesIn(scope())).toBeUndefined()
  })

  test('below a project, and not in it', async () => {
    const child = await admin.create('projects', { name: 'annex', parent_id: project.id })
    const grant = `/v3/OS-INHERIT/projects/${project.id}/users/${user.id}/roles/${roles['member']}/inherited_to_projects`
    await admin.expect(204, 'PUT', grant)
    const una = await clientOf(http, user.id, PASSWORD, 'unscoped')

    expect(await rolesIn(inProject(child.id))).toEqual(['member', 'reader'])
    expect(await rolesIn(inProject(project.id))).toBeUndefined()
    expect(await una.list('/v3/auth/projects', 'projects')).toMatchObject([{ name: 'annex' }])
    await admin.expect(204, 'DELETE', grant)
    await admin.expect(204, 'DELETE', `/v3/projects/${child.id}`)
  })

  test.each([
    ['user', () => `/v3/projects/${project.id}/users/nobody/roles/${roles['reader']}`],
    ['group', () => `/v3/projects/${project.id}/groups/none/roles/${roles['reader']}`],
    ['project', () => `/v3/projects/none/users/${user.id}/roles/${roles['reader']}`],
    ['domain', () => `/v3/domains/none/users/${user.id}/roles/${roles['reader']}`],
    ['role', () => `/v3/projects/${project.id}/users/${user.id}/roles/none`],
  ])('not for an unknown %s', async (what, path) => {
    expect(await admin.expect(404, 'PUT', path())).toContain(`Could not find ${what}`)
  })
})

test('role assignments are found by every filter, and shown as given or as they come out', async () => {
  const domain = await admin.create('domains', { name: 'north' })
  const inside = await admin.create('projects', { name: 'inside', domain_id: domain.id })
  const below = await admin.create('projects', { name: 'below', parent_id: inside.id })
  const reader = roles['reader'] ?? ''
  const member = roles['member'] ?? ''
  await admin.expect(204, 'PUT', `/v3/projects/${below.id}/groups/${group.id}/roles/${member}`)
  await admin.expect(
    204,
    'PUT',
    `/v3/OS-INHERIT/domains/${domain.id}/users/${user.id}/roles/${reader}/inherited_to_projects`,
  )
  const at = (query: string) => admin.list(`/v3/role_assignments?${query}`)

  const [given] = await at(`group.id=${group.id}&include_names`)
  expect(given).toMatchObject({
    role: { id: member, name: 'member' },
    group: { id: group.id, name: 'crew', domain: { name: 'Default' } },
    scope: { project: { id: below.id, name: 'below', domain: { name: 'north' } } },
  })
  expect(await at(`user.id=${user.id}`)).toMatchObject([
    { scope: { domain: { id: domain.id }, 'OS-INHERIT:inherited_to': 'projects' } },
  ])
  expect(await at('scope.OS-INHERIT:inherited_to=projects')).toHaveLength(1)
  expect(await at(`scope.project.id=${inside.id}`)).toEqual([])
  expect(await at(`scope.project.id=${inside.id}&include_subtree`)).toHaveLength(1)
  expect(await at(`scope.domain.id=${domain.id}&role.id=${reader}`)).toHaveLength(1)
  expect(await at('scope.system=all')).toMatchObject([{ scope: { system: { all: true } } }])

  const effective = (await at(
    `user.id=${user.id}&effective&include_names`,
  )) as unknown as readonly { role: Shown; scope: { project: Shown } }[]
  expect(
    effective.map(({ role, scope }) => `${role.name} in ${scope.project.name}`).toSorted(),
  ).toEqual(['member in below', 'reader in below', 'reader in inside'])
  const membership = await at(`user.id=${user.id}&role.id=${member}&effective`)
  expect(membership).toMatchObject([
    { links: { membership: expect.stringContaining(`/groups/${group.id}/users/`) as string } },
  ])

  await admin.expect(400, 'GET', `/v3/role_assignments?user.id=a&group.id=b`)
  await admin.expect(400, 'GET', `/v3/role_assignments?effective&group.id=b`)
  await admin.expect(400, 'GET', `/v3/role_assignments?include_subtree`)
  await admin.expect(400, 'GET', `/v3/role_assignments?scope.project.id=a&scope.domain.id=b`)
  await admin.update('domains', domain.id, { enabled: false })
  await admin.expect(204, 'DELETE', `/v3/domains/${domain.id}`)
  expect(await at(`user.id=${user.id}`)).toEqual([])
})

describe('every gateway follows', () => {
  let una: string
  const grant = () => `/v3/projects/${project.id}/users/${user.id}/roles/${roles['manager']}`

  beforeAll(async () => {
    await admin.expect(204, 'PUT', grant())
  })

  async function expectRevoked(change: () => Promise<unknown>): Promise<void> {
    una = (await clientOf(http, user.id, PASSWORD, inProject(project.id))).token
    const status = async () => (await other.ask('GET', '/v3/auth/projects', { token: una })).status
    expect(await status()).toBe(200)
    await change()
    await expect.poll(status, { interval: 20 }).toBe(401)
  }

  test('the end of the last role in the project', async () => {
    await expectRevoked(() => admin.expect(204, 'DELETE', grant()))
    await admin.expect(204, 'PUT', grant())
  })

  test('the end of a membership that gave the role', async () => {
    await admin.expect(204, 'DELETE', grant())
    const byGroup = `/v3/projects/${project.id}/groups/${group.id}/roles/${roles['reader']}`
    await admin.expect(204, 'PUT', byGroup)
    const membership = `/v3/groups/${group.id}/users/${user.id}`
    await expectRevoked(() => admin.expect(204, 'DELETE', membership))
    await admin.expect(204, 'PUT', grant())
  })

  test('a user disabled, a project disabled, a domain role deleted', async () => {
    await expectRevoked(() => admin.update('users', user.id, { enabled: false }))
    await admin.update('users', user.id, { enabled: true })
    await expectRevoked(() => admin.update('projects', project.id, { enabled: false }))
    await admin.update('projects', project.id, { enabled: true })
    await admin.expect(204, 'DELETE', grant())
    const own = await admin.create('roles', { name: 'admin', domain_id: 'default' })
    await admin.expect(201, 'PUT', `/v3/roles/${own.id}/implies/${roles['reader']}`)
    await admin.expect(204, 'PUT', `/v3/projects/${project.id}/users/${user.id}/roles/${own.id}`)
    // A role of a domain counts by the roles that it implies, not by its name.
    expect(await rolesIn(inProject(project.id))).toEqual(['reader'])
    await expectRevoked(() => admin.expect(204, 'DELETE', `/v3/roles/${own.id}`))
  })
})
