import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { credentials } from '#gateway/db/schema/identity.ts'
import { administrator, IdentityClient, type Shown } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from './identity-world.ts'

let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient
let demo: IdentityClient
/** Ids of demo, and of its project. */
let user: string
let project: string

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
  demo = new IdentityClient(http, await http.logIn('demo', demoPassword))
  const [own] = await admin.list('/v3/users?name=demo')
  const [home] = await admin.list('/v3/projects?name=demo')
  user = own!.id
  project = home!.id
})

afterAll(() => world?.[Symbol.asyncDispose]())

const SECRET = 'known to few'
const totp = () => ({ user_id: user, type: 'totp', blob: SECRET })

test('a credential is made, seen, changed and deleted by its user, and sealed in the database', async () => {
  const made = await demo.create('credentials', totp())
  expect(made).toMatchObject({ ...totp(), project_id: null })
  expect(await demo.show('credentials', made.id)).toEqual(made)
  const kept = await http.gateway.db.orm.select().from(credentials)
  expect(JSON.stringify(kept)).not.toContain(SECRET)

  const { id } = made
  expect(await demo.update('credentials', id, { blob: 'new', type: 'totp' })).toMatchObject({
    blob: 'new',
  })
  expect(await demo.show('credentials', id)).toMatchObject({ blob: 'new' })
  await demo.expect(400, 'PATCH', `/v3/credentials/${id}`, { credential: { type: 'cert' } })
  await demo.expect(204, 'DELETE', `/v3/credentials/${id}`)
  await admin.expect(404, 'GET', `/v3/credentials/${id}`)
})

test('credentials of others are for administrators', async () => {
  const { id } = await admin.create('credentials', {
    user_id: await idOf('admin'),
    ...{ type: 'x', blob: 'b' },
  })
  await demo.create('credentials', totp())
  const types = async (client: IdentityClient, query = '') =>
    (await client.list(`/v3/credentials${query}`, 'credentials')).map(({ type }) => type)

  expect(new Set(await types(admin))).toEqual(new Set(['totp', 'x']))
  expect(await types(demo)).toEqual(['totp'])
  expect(await types(admin, '?type=x')).toEqual(['x'])
  expect(await types(demo, `?user_id=${await idOf('admin')}`)).toEqual([])
  const none = '0'.repeat(32)
  for (const other of [id, none]) {
    await demo.expect(403, 'GET', `/v3/credentials/${other}`)
    await demo.expect(403, 'DELETE', `/v3/credentials/${other}`)
  }
  const foreign = { credential: { user_id: await idOf('admin'), type: 'x', blob: 'b' } }
  await demo.expect(403, 'POST', '/v3/credentials', foreign)
  await admin.expect(404, 'POST', '/v3/credentials', { credential: { ...totp(), user_id: none } })
})

test.each([
  ['that is no JSON', 'x'],
  ['without an access key', '{"secret":"s"}'],
])('a credential of type ec2 %s is refused', async (_name, blob) => {
  const credential = { user_id: user, project_id: project, type: 'ec2', blob }

  expect(await demo.expect(400, 'POST', '/v3/credentials', { credential })).toContain('access')
})

test('access keys are the credentials of type ec2 of a user', async () => {
  const path = `/v3/users/${user}/credentials/OS-EC2`
  const reply = await demo.send('POST', path, { tenant_id: project })
  const made = reply.body['credential'] as unknown as Shown
  const access = String(made['access'])

  expect(reply.status).toBe(201)
  expect(made).toMatchObject({ user_id: user, tenant_id: project, trust_id: null })
  expect(await demo.list(path, 'credentials')).toEqual([made])
  const shown = await demo.send('GET', `${path}/${access}`)
  expect(shown.body['credential']).toEqual(made)
  const id = hash('sha256', access)
  expect(await demo.show('credentials', id)).toMatchObject({ type: 'ec2', project_id: project })

  const own = { user_id: user, project_id: project, type: 'ec2' }
  const blob = JSON.stringify({ access, secret: 'x' })
  await demo.expect(409, 'POST', '/v3/credentials', { credential: { ...own, blob } })
  await demo.expect(400, 'PATCH', `/v3/credentials/${id}`, {
    credential: { blob: JSON.stringify({ access: 'another' }) },
  })
  await demo.expect(404, 'POST', path, { tenant_id: 'none' })
  await demo.expect(403, 'GET', `/v3/users/${await idOf('admin')}/credentials/OS-EC2`)
  await admin.expect(404, 'GET', `/v3/users/${await idOf('admin')}/credentials/OS-EC2/${access}`)
  await demo.expect(204, 'DELETE', `${path}/${access}`)
  await admin.expect(404, 'GET', `${path}/${access}`)
})

test('they end with their user and with their project', async () => {
  const there = await admin.create('projects', { name: 'ending' })
  const someone = await admin.create('users', { name: 'someone' })
  const keys = (owner: string) => `/v3/users/${owner}/credentials/OS-EC2`
  await admin.send('POST', keys(someone.id), { tenant_id: there.id })
  await admin.send('POST', keys(someone.id), { tenant_id: project })
  const left = async () => (await admin.list(`/v3/credentials?user_id=${someone.id}`)).length

  expect(await left()).toBe(2)
  await admin.expect(204, 'DELETE', `/v3/projects/${there.id}`)
  expect(await left()).toBe(1)
  await admin.expect(204, 'DELETE', `/v3/users/${someone.id}`)
  expect(await left()).toBe(0)
})

test('a restricted application credential neither sees nor makes any', async () => {
  const reply = await demo.send('POST', `/v3/users/${user}/application_credentials`, {
    application_credential: { name: 'lent' },
  })
  const { id, secret } = reply.body['application_credential'] as unknown as {
    readonly id: string
    readonly secret: string
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
  const lent = new IdentityClient(http, login.headers.get('x-subject-token') ?? '')

  await lent.expect(403, 'GET', '/v3/credentials')
  await lent.expect(403, 'POST', '/v3/credentials', { credential: totp() })
})

async function idOf(name: string): Promise<string> {
  const [found] = await admin.list(`/v3/users?name=${name}`)
  return found!.id
}
