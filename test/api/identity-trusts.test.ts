import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { purgeIdentity } from '#gateway/app/identity/token-purge.ts'
import { tokens, trusts } from '#gateway/db/schema/identity.ts'
import {
  administrator,
  clientOf,
  IdentityClient,
  passwordById,
  type Shown,
} from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld, type Reply } from './identity-world.ts'

const PASSWORD = 'a long enough password'
const TRUSTS = '/v3/OS-TRUST/trusts'

let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient
let project: Shown
const roles: Record<string, string> = {}
/** New for each test. */
let ann: Person
let bob: Person
let users = 0

interface Person extends IdentityClient {
  readonly id: string
}

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
  for (const { id, name } of await admin.list('/v3/roles')) roles[name] = id
  project = await admin.create('projects', { name: 'lent' })
})

beforeEach(async () => {
  ann = await person()
  bob = await person()
  await grant(ann, 'member')
})

afterAll(() => world?.[Symbol.asyncDispose]())

async function person(): Promise<Person> {
  users += 1
  const { id } = await admin.create('users', { name: `user-${users}`, password: PASSWORD })
  return Object.assign(await clientOf(http, id, PASSWORD, 'unscoped'), { id })
}

const assignment = (who: { id: string }, role: string, on = project) =>
  `/v3/projects/${on.id}/users/${who.id}/roles/${roles[role]}`
const grant = (who: { id: string }, role: string, on = project) =>
  admin.expect(204, 'PUT', assignment(who, role, on))

const asked = (fields: object = {}) => ({
  trust: {
    trustor_user_id: ann.id,
    trustee_user_id: bob.id,
    project_id: project.id,
    impersonation: true,
    roles: [{ name: 'member' }],
    ...fields,
  },
})

async function lend(fields: object = {}, from: IdentityClient = ann): Promise<Shown> {
  const { status, body } = await from.send('POST', TRUSTS, asked(fields))
  expect(status, JSON.stringify(body)).toBe(201)
  return body['trust'] as unknown as Shown
}

const byTrust = (who: { id: string }, trust: { id: string }): Promise<Reply> =>
  http.ask('POST', '/v3/auth/tokens', {
    body: passwordById(who.id, PASSWORD, { 'OS-TRUST:trust': { id: trust.id } }),
  })

/** With a token that the trust lends. */
async function lent(who: { id: string }, trust: { id: string }): Promise<IdentityClient> {
  const { status, headers, body } = await byTrust(who, trust)
  expect(status, JSON.stringify(body)).toBe(201)
  return new IdentityClient(http, headers.get('x-subject-token') ?? '')
}

async function isValid({ token }: IdentityClient): Promise<boolean> {
  const headers = { 'x-subject-token': token }
  const { status } = await http.ask('GET', '/v3/auth/tokens', {
    token: admin.token,
    headers,
  })
  return status === 200
}

test('a trust is made by its trustor, and seen by its trustor and trustee alone', async () => {
  const made = await lend({ expires_at: '2035-01-31T12:00:00' })
  const path = `${TRUSTS}/${made.id}`
  expect(made).toMatchObject({
    trustor_user_id: ann.id,
    trustee_user_id: bob.id,
    project_id: project.id,
    impersonation: true,
    expires_at: '2035-01-31T12:00:00.000000Z',
    remaining_uses: null,
    redelegation_count: 0,
    redelegated_trust_id: null,
    roles: [{ id: roles['member'], name: 'member' }],
  })

  for (const client of [ann, bob, admin]) {
    expect((await client.send('GET', path)).body['trust']).toEqual(made)
    expect(await client.list(`${path}/roles`)).toMatchObject([{ name: 'member' }])
    await client.expect(200, 'GET', `${path}/roles/${roles['member']}`)
    await client.expect(404, 'GET', `${path}/roles/${roles['reader']}`)
  }
  const stranger = await person()
  for (const suffix of ['', '/roles', `/roles/${roles['member']}`])
    await stranger.expect(404, 'GET', path + suffix)
  await stranger.expect(404, 'DELETE', path)
  await bob.expect(403, 'DELETE', path)
  await ann.expect(204, 'DELETE', path)
  await ann.expect(404, 'GET', path)
})

test('trusts are listed by trustor and by trustee, all of them for administrators', async () => {
  const made = await lend()
  const ids = async (client: IdentityClient, query: string) =>
    (await client.list(`${TRUSTS}?${query}`, 'trusts')).map(({ id }) => id)

  expect(await ids(ann, `trustor_user_id=${ann.id}`)).toEqual([made.id])
  expect(await ids(bob, `trustee_user_id=${bob.id}`)).toEqual([made.id])
  expect(await ids(bob, `trustor_user_id=${bob.id}`)).toEqual([])
  expect(await ids(admin, `trustor_user_id=${ann.id}&trustee_user_id=${bob.id}`)).toEqual([made.id])
  expect(await ids(admin, '')).toContain(made.id)
  await bob.expect(403, 'GET', TRUSTS)
  await bob.expect(403, 'GET', `${TRUSTS}?trustor_user_id=${ann.id}`)
  await bob.expect(403, 'GET', `${TRUSTS}?trustor_user_id=${ann.id}&trustee_user_id=${bob.id}`)
  expect((await ann.list(`${TRUSTS}?trustor_user_id=${ann.id}`))[0]).not.toHaveProperty('roles')
})

const REFUSED: readonly (readonly [what: string, status: number, fields: () => object])[] = [
  ['of another trustor', 403, () => ({ trustor_user_id: bob.id })],
  ['without a role', 403, () => ({ roles: [] })],
  ['with a role that the trustor has not', 404, () => ({ roles: [{ name: 'admin' }] })],
  ['with a role that there is not', 404, () => ({ roles: [{ id: 'none' }] })],
  ['with a role by id and name', 400, () => ({ roles: [{ id: roles['member'], name: 'member' }] })],
  ['of no project with a role', 404, () => ({ project_id: null })],
  ['of a project that there is not', 404, () => ({ project_id: 'none' })],
  ['for a user who is not there', 404, () => ({ trustee_user_id: 'none' })],
  ['that is over', 400, () => ({ expires_at: '2020-01-01T00:00:00Z' })],
  ['with an end that is no time', 400, () => ({ expires_at: '2035-13-01T00:00:00Z' })],
  ['for no token', 400, () => ({ remaining_uses: 0 })],
  ['that is given on too often', 403, () => ({ allow_redelegation: true, redelegation_count: 4 })],
  ['that is counted and given on', 400, () => ({ allow_redelegation: true, remaining_uses: 1 })],
]

test('a trust with too many roles, no roles or unknown roles is refused and not created', async () => {
  for (const [what, status, fields] of REFUSED) {
    const reply = await ann.send('POST', TRUSTS, asked(fields()))
    expect(`${what}: ${reply.status}`).toBe(`${what}: ${status}`)
  }
  expect(await ann.list(`${TRUSTS}?trustor_user_id=${ann.id}`)).toEqual([])
})

test('its token is in the name of the trustor or of the trustee, with the roles lent and those they imply', async () => {
  const [inName, own] = [await lend(), await lend({ impersonation: false })]

  for (const [trust, holder] of [
    [inName, ann],
    [own, bob],
  ] as const) {
    const { body } = await byTrust(bob, trust)
    const { token } = body as unknown as { readonly token: { readonly roles: readonly Shown[] } }
    expect(token).toMatchObject({
      user: { id: holder.id },
      project: { id: project.id },
      methods: ['password'],
      'OS-TRUST:trust': {
        id: trust.id,
        impersonation: trust === inName,
        trustor_user: { id: ann.id },
        trustee_user: { id: bob.id },
      },
    })
    expect(token.roles.map(({ name }) => name).toSorted()).toEqual(['member', 'reader'])
  }
})

test('it lends to its trustee alone, and as often as it says', async () => {
  const trust = await lend({ remaining_uses: 2 })
  expect((await byTrust(ann, trust)).status).toBe(403)
  expect((await byTrust(bob, { id: 'none' })).status).toBe(401)
  const ofNoProject = await lend({ project_id: null, roles: [] })
  expect((await byTrust(bob, ofNoProject)).status).toBe(403)

  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => byTrust(bob, trust)))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(2)
  expect(new Set(statuses)).not.toContain(500)
  expect((await byTrust(bob, trust)).status).toBe(401)
  await bob.expect(404, 'GET', `${TRUSTS}/${trust.id}`)
  const last = answers.find(({ status }) => status === 201)
  const token = new IdentityClient(http, last?.headers.get('x-subject-token') ?? '')
  expect(await isValid(token)).toBe(true)
})

test('a trust that ended can be listed for a day, and is gone then', async () => {
  const ended = async (hours: number) => {
    const { id } = await lend({ expires_at: '2035-01-01T00:00:00' })
    const expiresAt = new Date(Date.now() - hours * 3_600_000)
    await http.gateway.db.orm.update(trusts).set({ expiresAt }).where(eq(trusts.id, id))
    return id
  }
  const [lately, longAgo] = [await ended(23), await ended(25)]
  expect((await byTrust(bob, { id: lately })).status).toBe(401)
  await ann.expect(404, 'GET', `${TRUSTS}/${lately}`)

  await purgeIdentity(http.gateway.db, systemClock, AbortSignal.timeout(30_000))
  const left = (await ann.list(`${TRUSTS}?trustor_user_id=${ann.id}`)).map(({ id }) => id)
  expect(left).toContain(lately)
  expect(left).not.toContain(longAgo)
})

test('its token ends no later than it', async () => {
  const end = new Date(Date.now() + 600_000).toISOString()
  const { body } = await byTrust(bob, await lend({ expires_at: end }))

  expect(Date.parse((body as unknown as { token: { expires_at: string } }).token.expires_at)).toBe(
    Date.parse(end),
  )
})

test.each<[string, () => Promise<unknown>, number]>([
  ['the trustor loses the role', () => admin.expect(204, 'DELETE', assignment(ann, 'member')), 403],
  ['the trustor is disabled', () => admin.update('users', ann.id, { enabled: false }), 403],
  ['the trustee is disabled', () => admin.update('users', bob.id, { enabled: false }), 401],
  ['the trustor is deleted', () => admin.expect(204, 'DELETE', `/v3/users/${ann.id}`), 401],
  ['the trustee is deleted', () => admin.expect(204, 'DELETE', `/v3/users/${bob.id}`), 401],
])('a trust lends nothing any more when %s', async (_name, end, status) => {
  const trust = await lend()
  const token = await lent(bob, trust)
  expect(await isValid(token)).toBe(true)

  await end()
  expect(await isValid(token)).toBe(false)
  expect((await byTrust(bob, trust)).status).toBe(status)
})

test('a new password of the trustor ends the delegated tokens, and deleting the trust ends them permanently', async () => {
  const trust = await lend()
  const before = await lent(bob, trust)
  await admin.update('users', ann.id, { password: `${PASSWORD} changed` })
  expect(await isValid(before)).toBe(false)

  const after = await lent(bob, trust)
  expect(await isValid(after)).toBe(true)
  await admin.expect(204, 'DELETE', `${TRUSTS}/${trust.id}`)
  expect(await isValid(after)).toBe(false)
  expect((await byTrust(bob, trust)).status).toBe(401)
})

test("delegated tokens of a domain's users end permanently when the domain is disabled", async () => {
  const domain = await admin.create('domains', { name: 'lenders' })
  const fields = { name: 'lender', domain_id: domain.id, password: PASSWORD }
  const { id } = await admin.create('users', fields)
  const lender = Object.assign(await clientOf(http, id, PASSWORD, 'unscoped'), { id })
  await grant(lender, 'member')
  const token = await lent(bob, await lend({ trustor_user_id: id }, lender))
  expect(await isValid(token)).toBe(true)

  await admin.update('domains', domain.id, { enabled: false })
  await admin.update('domains', domain.id, { enabled: true })
  expect(await isValid(token)).toBe(false)
})

test('a trust is deleted with its project', async () => {
  const home = await admin.create('projects', { name: 'short-lived' })
  await grant(ann, 'member', home)
  const trust = await lend({ project_id: home.id })
  await lent(bob, trust)
  await admin.expect(204, 'DELETE', `/v3/projects/${home.id}`)

  const { orm } = http.gateway.db
  const left = [...(await orm.select().from(trusts)), ...(await orm.select().from(tokens))]
  expect(JSON.stringify(left)).not.toContain(trust.id)
})

test('a token of a trust leads to nothing that outlives the trust', async () => {
  const token = await lent(bob, await lend())
  const auth = (scope?: unknown) => ({
    auth: {
      identity: { methods: ['token'], token: { id: token.token } },
      ...(scope ? { scope } : {}),
    },
  })
  for (const scope of [undefined, 'unscoped', { project: { id: project.id } }])
    expect((await http.ask('POST', '/v3/auth/tokens', { body: auth(scope) })).status).toBe(403)

  const credentials = `/v3/users/${ann.id}/application_credentials`
  await token.expect(403, 'POST', credentials, { application_credential: { name: 'mine' } })
  await token.expect(403, 'GET', credentials)
  await token.expect(403, 'GET', `/v3/users/${ann.id}/access_rules`)
  await token.expect(403, 'POST', `/v3/users/${ann.id}/credentials/OS-EC2`, {
    tenant_id: project.id,
  })
  await token.expect(403, 'GET', '/v3/credentials')
  expect(await token.expect(403, 'POST', TRUSTS, asked())).toContain('redelegation_count is 0')
})

test('a trust is given on as far as it says, by its own trustee, and ends with the one it came from', async () => {
  await grant(ann, 'manager')
  const end = '2035-01-31T12:00:00Z'
  const first = await lend({ allow_redelegation: true, redelegation_count: 1, expires_at: end })
  const holder = await lent(bob, first)
  const cid = await person()
  const further = { trustee_user_id: cid.id, allow_redelegation: true }

  for (const more of [
    { roles: [{ name: 'manager' }] },
    { expires_at: '2036-01-01T00:00:00Z' },
    { remaining_uses: 1, allow_redelegation: false },
    { redelegation_count: 3 },
  ])
    await holder.expect(403, 'POST', TRUSTS, asked({ ...further, ...more }))
  const second = await lend(further, holder)
  expect(second).toMatchObject({
    trustor_user_id: ann.id,
    redelegated_trust_id: first.id,
    redelegation_count: 0,
    expires_at: '2035-01-31T12:00:00.000000Z',
  })
  const last = await lent(cid, second)
  const dan = await person()
  await last.expect(403, 'POST', TRUSTS, asked({ trustee_user_id: dan.id }))

  await admin.update('users', bob.id, { enabled: false })
  expect(await isValid(last)).toBe(false)
  await admin.update('users', bob.id, { enabled: true })
  const again = await lent(cid, second)
  await ann.expect(204, 'DELETE', `${TRUSTS}/${first.id}`)
  expect(await isValid(again)).toBe(false)
  await cid.expect(404, 'GET', `${TRUSTS}/${second.id}`)
})

test('a trust that went a moment ago is not given on, and leads to no other roles', async () => {
  await grant(ann, 'manager')
  const first = await lend({ allow_redelegation: true })
  const holder = await lent(bob, first)
  await holder.expect(200, 'GET', `${TRUSTS}/${first.id}`)
  await http.gateway.db.orm.delete(trusts).where(eq(trusts.id, first.id))
  // Mostly the token is still known.
  const { status } = await holder.send('POST', TRUSTS, asked({ roles: [{ name: 'manager' }] }))
  expect([401, 404]).toContain(status)
  expect(await ann.list(`${TRUSTS}?trustor_user_id=${ann.id}`)).toEqual([])
})

test('given on without impersonation it lends the roles of the first trustor', async () => {
  const first = await lend({ impersonation: false, allow_redelegation: true })
  const holder = await lent(bob, first)
  const cid = await person()
  const fields = { trustor_user_id: bob.id, trustee_user_id: cid.id }
  await holder.expect(403, 'POST', TRUSTS, asked({ ...fields, impersonation: true }))
  const second = await lend({ ...fields, impersonation: false }, holder)

  const last = await lent(cid, second)
  await admin.expect(204, 'DELETE', assignment(ann, 'member'))
  expect(await isValid(last)).toBe(false)
})

test('an application credential makes trusts of its own roles in its own project, if it is unrestricted', async () => {
  await grant(ann, 'manager')
  const scoped = await clientOf(http, ann.id, PASSWORD, { project: { id: project.id } })
  const program = async (fields: object) => {
    const path = `/v3/users/${ann.id}/application_credentials`
    const application_credential = { name: 'program', secret: PASSWORD, ...fields }
    const { body } = await scoped.send('POST', path, { application_credential })
    const { id } = body['application_credential'] as unknown as Shown
    const identity = {
      methods: ['application_credential'],
      application_credential: { id, secret: PASSWORD },
    }
    const reply = await http.ask('POST', '/v3/auth/tokens', { body: { auth: { identity } } })
    return new IdentityClient(http, reply.headers.get('x-subject-token') ?? '')
  }
  const restricted = await program({ name: 'restricted' })
  await restricted.expect(403, 'POST', TRUSTS, asked())
  await restricted.expect(403, 'GET', `${TRUSTS}?trustor_user_id=${ann.id}`)

  const other = await admin.create('projects', { name: 'elsewhere' })
  await grant(ann, 'member', other)
  const free = await program({ unrestricted: true, roles: [{ name: 'member' }] })
  await free.expect(201, 'POST', TRUSTS, asked())
  await free.expect(404, 'POST', TRUSTS, asked({ roles: [{ name: 'manager' }] }))
  await free.expect(404, 'POST', TRUSTS, asked({ project_id: other.id }))
})
