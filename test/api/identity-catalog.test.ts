import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { administrator, type IdentityClient, type Shown } from './identity-client.ts'
import { type IdentityWorld, identityWorld } from './identity-world.ts'

let world: IdentityWorld
let admin: IdentityClient

beforeAll(async () => {
  world = await identityWorld()
  const http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
})

afterAll(() => world?.[Symbol.asyncDispose]())

interface Entry extends Shown {
  readonly type: string
  readonly endpoints: readonly { readonly url: string; readonly region_id: string | null }[]
}

async function catalogEntry(type: string): Promise<Entry | undefined> {
  const catalog = (await admin.list('/v3/auth/catalog', 'catalog')) as readonly Entry[]
  return catalog.find((entry) => entry.type === type)
}

test('the services of this deployment are listed, and can be neither changed nor deleted', async () => {
  const [region] = await admin.list('/v3/regions')
  const [service] = await admin.list('/v3/services?type=compute')
  const endpoints = await admin.list(`/v3/endpoints?service_id=${service?.id}&interface=public`)

  expect(endpoints).toMatchObject([{ url: 'http://cloud.test:8774/compute/v2.1', enabled: true }])
  for (const path of [
    `/v3/regions/${region?.id}`,
    `/v3/services/${service?.id}`,
    `/v3/endpoints/${endpoints[0]?.id}`,
  ])
    expect(await admin.expect(403, 'DELETE', path)).toContain('served by this deployment')
  await admin.expect(403, 'PATCH', `/v3/services/${service?.id}`, { service: { name: 'x' } })
})

test('a registered service with endpoints is in the catalog of every token, filled in', async () => {
  const service = await admin.create('services', { type: 'object-store', name: 'swift' })
  const fields = { service_id: service.id, interface: 'public', region: 'Elsewhere' }
  const url = 'http://swift.test/v1/AUTH_$(project_id)s'
  const endpoint = await admin.create('endpoints', { ...fields, url })
  await admin.create('endpoints', {
    ...fields,
    interface: 'admin',
    url: 'http://swift.test/%(user_id)s',
    enabled: false,
  })
  const project = await admin.list('/v3/projects?name=admin')

  expect(await catalogEntry('object-store')).toMatchObject({
    id: service.id,
    name: 'swift',
    endpoints: [{ url: `http://swift.test/v1/AUTH_${project[0]?.id}`, region_id: 'Elsewhere' }],
  })
  expect(await admin.list('/v3/endpoints?region_id=Elsewhere')).toHaveLength(2)
  expect(await admin.show('regions', 'Elsewhere')).toMatchObject({ parent_region_id: null })
  const system = await admin.http.logIn('admin', world.passwords.admin, {
    system: { all: true },
  })
  const { body } = await admin.http.ask('GET', '/v3/auth/catalog', { token: system })
  const unfilled = (body['catalog'] as unknown as readonly Entry[]).find(
    ({ type }) => type === 'object-store',
  )
  expect(unfilled?.endpoints).toEqual([])

  await admin.update('endpoints', endpoint.id, { url: 'https://swift.test/' })
  expect((await catalogEntry('object-store'))?.endpoints[0]?.url).toBe('https://swift.test/')
  await admin.update('services', service.id, { enabled: false })
  expect(await catalogEntry('object-store')).toBeUndefined()
  await admin.expect(403, 'DELETE', '/v3/regions/Elsewhere')
  await admin.expect(204, 'DELETE', `/v3/services/${service.id}`)
  await admin.expect(404, 'GET', `/v3/endpoints/${endpoint.id}`)
  await admin.expect(204, 'DELETE', '/v3/regions/Elsewhere')
  await admin.expect(404, 'GET', '/v3/regions/Elsewhere')
})

test('regions are below each other, in no circle', async () => {
  const earth = await admin.create('regions', { id: 'earth', description: 'all' })
  const moon = await admin.create('regions', { parent_region_id: 'earth' })
  expect(moon).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string })

  await admin.expect(409, 'POST', '/v3/regions', { region: { id: 'earth' } })
  await admin.expect(409, 'POST', '/v3/regions', { region: { id: 'RegionOne' } })
  await admin.expect(404, 'POST', '/v3/regions', { region: { parent_region_id: 'mars' } })
  await admin.expect(400, 'PATCH', '/v3/regions/earth', { region: { parent_region_id: moon.id } })
  expect(await admin.list('/v3/regions?parent_region_id=earth')).toMatchObject([{ id: moon.id }])
  await admin.expect(403, 'DELETE', '/v3/regions/earth')
  await admin.expect(204, 'DELETE', `/v3/regions/${moon.id}`)
  await admin.expect(204, 'DELETE', `/v3/regions/${earth.id}`)
})

test.each([
  ['an unknown service', { service_id: 'none' }],
  ['an unknown region', { region_id: 'none' }],
  ['a URL that is none', { url: 'javascript:alert(1)' }],
  ['an unknown interface', { interface: 'secret' }],
])('an endpoint of %s is refused', async (_what, change) => {
  const [service] = await admin.list('/v3/services?type=image')
  const endpoint = {
    service_id: service?.id,
    interface: 'public',
    url: 'http://x.test/',
    ...change,
  }

  await admin.expect(400, 'POST', '/v3/endpoints', { endpoint })
})

test('a region is put under its id, and it, services and endpoints keep further properties', async () => {
  const asked = { region: { description: 'far', email: 'far@example.org' } }
  await admin.expect(201, 'PUT', '/v3/regions/Far', asked)
  await admin.expect(409, 'PUT', '/v3/regions/Far', asked)
  await admin.expect(400, 'PUT', '/v3/regions/Far2', { region: { id: 'Far' } })

  expect(await admin.update('regions', 'Far', { email: null, team: 'net' })).toMatchObject({
    id: 'Far',
    description: 'far',
    team: 'net',
  })
  const service = await admin.create('services', { type: 'dns', email: 'dns@example.org' })
  expect(service).toMatchObject({ email: 'dns@example.org' })
  const changed = await admin.update('services', service.id, { email: null, team: 'net' })
  expect(changed).toMatchObject({ type: 'dns', team: 'net' })
  expect(changed).not.toHaveProperty('email')

  const place = { service_id: service.id, interface: 'public', url: 'http://dns.test/' }
  const endpoint = await admin.create('endpoints', { ...place, name: 'dns', rack: { row: 4 } })
  expect(endpoint).toMatchObject({ name: 'dns', rack: { row: 4 } })
  const moved = await admin.update('endpoints', endpoint.id, { name: null, url: 'http://ns.test/' })
  expect(moved).toMatchObject({ url: 'http://ns.test/', rack: { row: 4 } })
  expect(moved).not.toHaveProperty('name')
  expect(await admin.show('endpoints', endpoint.id)).toEqual(moved)
})

test('a policy is kept, found by its type, changed and deleted', async () => {
  const made = await admin.create('policies', { type: 'text/x', blob: 'rules', note: 'mine' })
  expect(made).toMatchObject({ type: 'text/x', blob: 'rules', note: 'mine' })
  const found = async (query: string) =>
    (await admin.list(`/v3/policies?${query}`)).map(({ id }) => id)

  expect(await found('type=text/x')).toEqual([made.id])
  expect(await found('type__contains=xt/')).toEqual([made.id])
  expect(await found('type__startswith=x')).toEqual([])
  const changed = await admin.update('policies', made.id, { blob: 'others', note: null })
  expect(changed).toMatchObject({ type: 'text/x', blob: 'others' })
  expect(changed).not.toHaveProperty('note')
  expect(await admin.show('policies', made.id)).toEqual(changed)
  await admin.expect(400, 'POST', '/v3/policies', { policy: { type: 'x' } })
  await admin.expect(204, 'DELETE', `/v3/policies/${made.id}`)
  await admin.expect(404, 'GET', `/v3/policies/${made.id}`)
})
