import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { administrator, IdentityClient, type Shown } from './identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld, type Reply } from './identity-world.ts'

let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient
let demo: IdentityClient
let demoProject: string
let service: Shown

beforeAll(async () => {
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  const made = await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  demoProject = made.demoProjectId
  admin = await administrator(http, adminPassword)
  demo = new IdentityClient(http, await http.logIn('demo', demoPassword))
  service = await admin.create('services', { type: 'object-store', name: 'swift' })
})

afterAll(() => world?.[Symbol.asyncDispose]())

const resource = (resource_name: string) => ({ service_id: service.id, resource_name })
/** Sends, and gives the body of an answer with this status. */
async function sent(
  client: IdentityClient,
  status: number,
  ...request: Parameters<IdentityClient['send']>
): Promise<Reply['body']> {
  const reply = await client.send(...request)
  expect(reply.status, `${request[0]} ${request[1]}: ${JSON.stringify(reply.body)}`).toBe(status)
  return reply.body
}
const register = async (...limits: readonly object[]) => {
  const body = { registered_limits: limits }
  const reply = await sent(admin, 201, 'POST', '/v3/registered_limits', body)
  return reply['registered_limits'] as unknown as readonly Shown[]
}
const limit = async (...limits: readonly object[]) =>
  (await sent(admin, 201, 'POST', '/v3/limits', { limits }))[
    'limits'
  ] as unknown as readonly Shown[]

test('limits are registered for resources of services, once each', async () => {
  const [buckets, bytes] = await register(
    { ...resource('buckets'), default_limit: 10 },
    { ...resource('bytes'), default_limit: -1, region_id: 'RegionOne', description: 'Stored' },
  )
  expect(buckets).toMatchObject({ region_id: null, default_limit: 10, description: null })
  expect(bytes).toMatchObject({ region_id: 'RegionOne', description: 'Stored' })
  const path = `/v3/registered_limits/${bytes!.id}`
  const answer = { registered_limit: { default_limit: 7 } }
  expect(await sent(admin, 200, 'PATCH', path, answer)).toMatchObject(answer)
  expect(await sent(demo, 200, 'GET', path)).toMatchObject(answer)
  expect(await demo.list('/v3/registered_limits?resource_name=bytes')).toMatchObject([
    { id: bytes!.id },
  ])
  const another = { registered_limits: [{ ...resource('buckets'), default_limit: 1 }] }
  expect(await admin.expect(409, 'POST', '/v3/registered_limits', another)).toContain('Duplicate')
  const strange = { service_id: 'none', resource_name: 'x', default_limit: 1 }
  const refused = { registered_limits: [{ ...resource('y'), default_limit: 1 }, strange] }
  expect(await admin.expect(400, 'POST', '/v3/registered_limits', refused)).toContain('service_id')
  expect(await admin.list('/v3/registered_limits?resource_name=y')).toEqual([])
  await demo.expect(403, 'POST', '/v3/registered_limits', another)
  await sent(admin, 204, 'DELETE', path)
  await admin.expect(404, 'GET', path)
})

test('projects and domains override registered limits', async () => {
  const [registered] = await register({ ...resource('objects'), default_limit: 10 })
  const project_id = demoProject
  const [own, whole] = await limit(
    { ...resource('objects'), resource_limit: 20, project_id },
    { ...resource('objects'), resource_limit: 90, domain_id: 'default' },
  )
  expect(own).toMatchObject({ project_id, domain_id: null, resource_limit: 20 })
  expect(whole).toMatchObject({ project_id: null, domain_id: 'default' })

  const again = { limits: [{ ...resource('objects'), resource_limit: 1, project_id }] }
  await admin.expect(409, 'POST', '/v3/limits', again)
  const unknown = { limits: [{ ...resource('moons'), resource_limit: 1, project_id }] }
  expect(await admin.expect(403, 'POST', '/v3/limits', unknown)).toContain('no corresponding')
  const nobody = { limits: [{ ...resource('objects'), resource_limit: 1, project_id: 'none' }] }
  await admin.expect(400, 'POST', '/v3/limits', nobody)
  const noOwner = { limits: [{ ...resource('objects'), resource_limit: 1 }] }
  await admin.expect(400, 'POST', '/v3/limits', noOwner)
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { registered_limit: { default_limit: 1 } }],
  ] as const)
    await admin.expect(403, method, `/v3/registered_limits/${registered!.id}`, body)

  const path = `/v3/limits/${own!.id}`
  const changed = { limit: { resource_limit: 30, description: 'more' } }
  expect(await sent(admin, 200, 'PATCH', path, changed)).toMatchObject(changed)
  expect(await sent(demo, 200, 'GET', path)).toMatchObject(changed)
  const ids = async (client: IdentityClient, query = '') =>
    new Set((await client.list(`/v3/limits${query}`)).map(({ id }) => id))
  expect(await ids(admin)).toEqual(new Set([own!.id, whole!.id]))
  expect(await ids(admin, '?domain_id=default')).toEqual(new Set([whole!.id]))
  expect(await ids(demo)).toEqual(new Set([own!.id]))
  await demo.expect(403, 'GET', `/v3/limits/${whole!.id}`)
  await demo.expect(403, 'DELETE', path)
  expect(await sent(demo, 200, 'GET', '/v3/limits/model')).toMatchObject({
    model: { name: 'flat' },
  })

  await sent(admin, 204, 'DELETE', `/v3/services/${service.id}`)
  expect(await ids(admin)).toEqual(new Set())
  expect(await admin.list('/v3/registered_limits')).toEqual([])
})
