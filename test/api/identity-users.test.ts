import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { recoverAdministrator } from '#gateway/app/identity/recover-administrator.ts'
import { administrator, clientOf, type IdentityClient, passwordById } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

const PASSWORD = 'a long enough password'
const FAILURES_MAX = 10

let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
})

afterAll(() => world?.[Symbol.asyncDispose]())

async function loginStatus(id: string, password: string): Promise<number> {
  const body = passwordById(id, password)
  return (await http.ask('POST', '/v3/auth/tokens', { body })).status
}

test('a user is made, shown, changed and deleted; the password is never shown', async () => {
  const user = await admin.create('users', {
    name: 'bea',
    password: PASSWORD,
    email: 'bea@example.org',
    description: null,
    options: { lock_password: true },
    phone: '123',
  })
  expect(user).toMatchObject({
    domain_id: 'default',
    email: 'bea@example.org',
    description: '',
    default_project_id: null,
    enabled: true,
    options: { lock_password: true },
    phone: '123',
  })
  expect(user).not.toHaveProperty('password')

  const changed = await admin.update('users', user.id, { name: 'beatrice', phone: null })
  expect(changed).toMatchObject({ name: 'beatrice', email: 'bea@example.org' })
  expect(changed).not.toHaveProperty('phone')
  expect(await admin.list('/v3/users?name=beatrice&domain_id=default')).toHaveLength(1)
  const twice = { user: { name: 'beatrice' } }
  expect(await admin.expect(409, 'POST', '/v3/users', twice)).toContain('beatrice')
  await admin.expect(404, 'POST', '/v3/users', { user: { name: 'x', default_project_id: 'no' } })
  await admin.expect(400, 'POST', '/v3/users', {
    user: { name: 'x', options: { multi_factor_auth_rules: ['password'] } },
  })
  await admin.expect(400, 'PATCH', `/v3/users/${user.id}`, { user: { domain_id: 'other' } })

  await admin.expect(204, 'DELETE', `/v3/users/${user.id}`)
  await admin.expect(404, 'GET', `/v3/users/${user.id}`)
  expect(await loginStatus(user.id, PASSWORD)).toBe(401)
})

test('users change their passwords with the old one, which ends their tokens', async () => {
  const user = await admin.create('users', { name: 'cem', password: PASSWORD })
  const cem = await clientOf(http, user.id, PASSWORD)
  const path = `/v3/users/${user.id}/password`
  const body = (original_password: string, password: string) => ({
    user: { original_password, password },
  })

  await cem.expect(401, 'POST', path, body('wrong', 'new'))
  await cem.expect(400, 'POST', path, body(PASSWORD, ''))
  await cem.expect(204, 'POST', path, body(PASSWORD, 'the new one'))

  await cem.expect(401, 'GET', '/v3/auth/projects')
  expect(await loginStatus(user.id, PASSWORD)).toBe(401)
  expect(await loginStatus(user.id, 'the new one')).toBe(201)

  await admin.update('users', user.id, { options: { lock_password: true } })
  await cem.expect(403, 'POST', path, body('the new one', 'newer'))
  await admin.update('users', user.id, { password: 'set by the administrator' })
  expect(await loginStatus(user.id, 'set by the administrator')).toBe(201)
})

test('a user without a password, or disabled, cannot log in', async () => {
  const user = await admin.create('users', { name: 'dora' })
  expect(await loginStatus(user.id, '')).toBe(401)

  await admin.update('users', user.id, { password: PASSWORD })
  const dora = await clientOf(http, user.id, PASSWORD)
  await admin.update('users', user.id, { enabled: false })
  expect(await loginStatus(user.id, PASSWORD)).toBe(401)
  await dora.expect(401, 'GET', '/v3/auth/projects')
  await admin.update('users', user.id, { enabled: true })
  await dora.expect(401, 'GET', '/v3/auth/projects')
  expect(await loginStatus(user.id, PASSWORD)).toBe(201)
})

test('an account is locked after so many failures, except one whose failures are not counted', async () => {
  const options = { ignore_lockout_failure_attempts: true }
  const counted = await admin.create('users', { name: 'eli', password: PASSWORD })
  const free = await admin.create('users', { name: 'fay', password: PASSWORD, options })

  for (const { id } of [counted, free])
    for (let n = 0; n < FAILURES_MAX; n += 1) expect(await loginStatus(id, 'wrong')).toBe(401)

  expect(await loginStatus(counted.id, PASSWORD)).toBe(401)
  expect(await loginStatus(free.id, PASSWORD)).toBe(201)
})

test('the last administrator cannot be lost', async () => {
  const [user] = await admin.list('/v3/users?name=admin')
  const [role] = await admin.list('/v3/roles?name=admin')
  const path = `/v3/users/${user?.id}`

  expect(await admin.expect(409, 'DELETE', path)).toContain('without an enabled user')
  await admin.expect(409, 'PATCH', path, { user: { enabled: false } })
  await admin.expect(409, 'PATCH', path, { user: { password: null } })
  await admin.expect(409, 'PATCH', '/v3/domains/default', { domain: { enabled: false } })
  await admin.expect(403, 'DELETE', `/v3/roles/${role?.id}`)
  expect(await admin.show('users', user?.id ?? '')).toMatchObject({ enabled: true })

  const second = await admin.create('users', { name: 'second', password: PASSWORD })
  await admin.expect(204, 'PUT', `/v3/system/users/${second.id}/roles/${role?.id}`)
  await admin.update('users', user?.id ?? '', { enabled: false })
  const system = await clientOf(http, second.id, PASSWORD, { system: { all: true } })
  await system.expect(409, 'DELETE', `/v3/system/users/${second.id}/roles/${role?.id}`)
  await system.update('users', user?.id ?? '', { enabled: true })
  admin = await administrator(http, world.passwords.admin)
})

test('an administrator that the database lost is recovered from outside', async () => {
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  for (const statement of [
    "UPDATE users SET enabled = 0, password_hash = NULL WHERE name = 'admin'",
    'UPDATE domains SET enabled = 0',
    "DELETE FROM role_assignments WHERE target_type = 'system'",
  ])
    await http.gateway.db.orm.execute(statement)

  await recoverAdministrator(http.gateway.db, { adminPassword, demoPassword })

  admin = await administrator(http, adminPassword)
  expect(await admin.list('/v3/auth/system', 'system')).toEqual([{ all: true }])
})

test('groups have members, listed by group and by user', async () => {
  const group = await admin.create('groups', { name: 'ops', description: 'operators' })
  const user = await admin.create('users', { name: 'gus', password: PASSWORD })
  const membership = `/v3/groups/${group.id}/users/${user.id}`

  expect(await admin.expect(409, 'POST', '/v3/groups', { group: { name: 'ops' } })).toContain('ops')
  await admin.expect(404, 'GET', membership)
  await admin.expect(204, 'PUT', membership)
  await admin.expect(204, 'PUT', membership)
  await admin.expect(204, 'GET', membership)
  expect((await http.ask('HEAD', membership, { token: admin.token })).status).toBe(204)
  expect(await admin.list(`/v3/groups/${group.id}/users`)).toMatchObject([{ name: 'gus' }])
  const gus = await clientOf(http, user.id, PASSWORD)
  expect(await gus.list(`/v3/users/${user.id}/groups`)).toMatchObject([{ name: 'ops' }])
  await gus.expect(403, 'GET', `/v3/groups/${group.id}`)
  await gus.expect(403, 'PUT', membership)

  expect(await admin.update('groups', group.id, { name: 'ops2' })).toMatchObject({ name: 'ops2' })
  await admin.expect(204, 'DELETE', membership)
  await admin.expect(404, 'DELETE', membership)
  await admin.expect(404, 'PUT', `/v3/groups/${group.id}/users/nobody`)
  await admin.expect(204, 'DELETE', `/v3/groups/${group.id}`)
  await admin.expect(404, 'GET', `/v3/groups/${group.id}`)
})

test('ids that no database could hold are not found', async () => {
  for (const id of ['%C3%A9', 'x'.repeat(300), '%F0%9F%98%80'])
    for (const plural of ['users', 'groups', 'projects', 'domains', 'roles', 'regions', 'services'])
      await admin.expect(404, 'GET', `/v3/${plural}/${id}`)
})

test('a rule about methods refuses logins that do not fit it, until it is taken away', async () => {
  const options = {
    ignore_password_expiry: true,
    multi_factor_auth_rules: [['application_credential'], ['password', 'token']],
  }
  const user = await admin.create('users', { name: 'mia', password: PASSWORD, options })

  expect(user).toMatchObject({ options })
  expect(await loginStatus(user.id, PASSWORD)).toBe(401)
  const off = { multi_factor_auth_enabled: false }
  expect(await admin.update('users', user.id, { options: off })).toMatchObject({
    options: { ...options, ...off },
  })
  expect(await loginStatus(user.id, PASSWORD)).toBe(201)
  const none = { multi_factor_auth_enabled: null, multi_factor_auth_rules: null }
  const { options: left } = await admin.update('users', user.id, { options: none })
  expect(left).toEqual({ ignore_password_expiry: true })
  expect(await loginStatus(user.id, PASSWORD)).toBe(201)
})

test('names of users, projects and domains are found in any case, and taken in any', async () => {
  const user = { name: 'Admin', domain: { name: 'default' } }
  const identity = {
    methods: ['password'],
    password: { user: { ...user, password: world.passwords.admin } },
  }
  const scope = { project: { name: 'ADMIN', domain: { name: 'DEFAULT' } } }

  const login = await http.ask('POST', '/v3/auth/tokens', {
    body: { auth: { identity, scope } },
  })

  expect(login.status).toBe(201)
  await admin.expect(409, 'POST', '/v3/users', { user: { name: 'ADMIN' } })
  await admin.expect(409, 'POST', '/v3/domains', { domain: { name: 'DEFAULT' } })
})

test('a group keeps further properties', async () => {
  const group = await admin.create('groups', { name: 'staff', email: 'staff@example.org', room: 4 })
  expect(group).toMatchObject({ email: 'staff@example.org', room: 4 })

  const changed = await admin.update('groups', group.id, { room: null, floor: 1 })

  expect(changed).toMatchObject({ email: 'staff@example.org', floor: 1 })
  expect(changed).not.toHaveProperty('room')
})
