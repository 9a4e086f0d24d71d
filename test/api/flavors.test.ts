import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

beforeAll(async () => {
  api = await computeApi('flavors')
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'red', 'member')
})

afterAll(() => api?.[Symbol.asyncDispose]())

const size = { ram: 128, vcpus: 1, disk: 1 }
interface OneFlavor {
  readonly flavor: { readonly id: string }
}
const create = (flavor: object, version: Microversion = '2.1') =>
  admin.call<OneFlavor>('createFlavor', { body: { flavor }, version })
const show = (client: ApiClient, flavor_id: string, version: Microversion = '2.1') =>
  client.call<OneFlavor>('showFlavor', { params: { flavor_id }, version })
interface FlavorPage {
  readonly flavors: readonly { readonly id: string }[]
  readonly flavors_links?: readonly [{ readonly href: string }]
}
const idsOf = async (client: ApiClient, query = '', version: Microversion = '2.1') =>
  (await client.call<FlavorPage>('listFlavors', { query, version })).body.flavors.map(
    ({ id }) => id,
  )

test('a flavor is created, shown, listed and deleted', async () => {
  const created = await create({ ...size, id: 'f1', name: 'first', swap: '64' })
  expect(created.status).toBe(200)
  expect(created.body.flavor).toMatchObject({
    id: 'f1',
    name: 'first',
    ram: 128,
    swap: 64,
    'os-flavor-access:is_public': true,
    links: [
      { rel: 'self', href: 'http://gw.example/compute/v2.1/flavors/f1' },
      { rel: 'bookmark', href: 'http://gw.example/compute/flavors/f1' },
    ],
  })
  expect((await show(alice, 'f1')).body.flavor).toMatchObject({ id: 'f1', swap: 64 })
  expect(await idsOf(alice)).toContain('f1')

  const params = { flavor_id: 'f1' }
  expect((await admin.call('deleteFlavor', { params })).status).toBe(202)
  expect((await show(admin, 'f1')).body).toEqual({
    itemNotFound: { code: 404, message: 'Flavor f1 could not be found.' },
  })
  expect((await admin.call('deleteFlavor', { params })).status).toBe(404)
})

test.each<[Microversion, object]>([
  ['2.1', { swap: '' }],
  ['2.54', { swap: '' }],
  ['2.55', { swap: '', description: null }],
  ['2.61', { swap: '', description: null, extra_specs: {} }],
  ['2.75', { swap: 0, description: null, extra_specs: {} }],
  [
    '2.101',
    { rxtx_factor: 1, 'OS-FLV-DISABLED:disabled': false, description: null, extra_specs: {} },
  ],
])('a flavor is shown as microversion %s has it', async (version, expected) => {
  await create({ ...size, id: 'shape', name: 'shape' })

  const { flavor } = (await show(alice, 'shape', version)).body

  expect(flavor).toMatchObject(expected)
  expect('description' in flavor).toBe('description' in expected)
  expect('extra_specs' in flavor).toBe('extra_specs' in expected)
})

test('flavors are found by a pattern in their name, and have lost two fields, since 2.102', async () => {
  for (const [id, name] of Object.entries({ n1: 'net.small', n2: 'net.LARGE', n3: 'calc.large' }))
    await create({ ...size, id, name })
  const named = (name: string, query = '') =>
    idsOf(alice, `?name=${encodeURIComponent(name)}${query}`, '2.102')

  expect(await named('large')).toEqual(['n2', 'n3'])
  expect(await named('^net\\.')).toEqual(['n1', 'n2'])
  expect(await named('^(net|calc)\\.l')).toEqual(['n2', 'n3'])
  expect(await named('^(net|calc)\\.', '&limit=2')).toEqual(['n1', 'n2'])
  expect(await named('^(net|calc)\\.', '&limit=2&marker=n2')).toEqual(['n3'])
  expect(await named('^(net|calc)', '&limit=0')).toEqual([])
  const refused = async (query: string, version: Microversion) =>
    (await alice.call('listFlavors', { query, version })).status
  expect(await refused('?name=(', '2.102')).toBe(400)
  expect(await refused('?name=x', '2.101')).toBe(400)
  expect(await refused('?sort_key=rxtx_factor', '2.101')).toBe(200)
  expect(await refused('?sort_key=rxtx_factor', '2.102')).toBe(400)
  const { flavor } = (await show(alice, 'n1', '2.102')).body
  expect(flavor).not.toHaveProperty('rxtx_factor')
  expect(flavor).not.toHaveProperty('OS-FLV-DISABLED:disabled')
  expect((await create({ ...size, name: 'x', rxtx_factor: 2 }, '2.102')).status).toBe(400)
})

test('a flavor without an id gets a UUID, and names and ids are unique', async () => {
  const { flavor } = (await create({ ...size, name: 'free' })).body
  expect(flavor.id).toMatch(/^[0-9a-f-]{36}$/)
  expect((await create({ ...size, name: 'free' })).body).toEqual({
    conflictingRequest: { code: 409, message: 'Flavor with name free already exists.' },
  })
  expect((await create({ ...size, id: flavor.id, name: 'other' })).body).toEqual({
    conflictingRequest: { code: 409, message: `Flavor with ID ${flavor.id} already exists.` },
  })
})

test.each([
  { name: 'x', ...size, vcpus: 0 },
  { name: 'x', ...size, ram: 'much' },
  { name: ' x', ...size },
  { name: 'x', ...size, colour: 'red' },
  { name: 'x', ...size, id: 'a/b' },
])('a flavor such as %j is refused', async (flavor) => {
  expect((await create(flavor)).status).toBe(400)
})

test('a description exists and can be changed from 2.55 on', async () => {
  expect((await create({ ...size, name: 'd', description: 'text' }, '2.54')).status).toBe(400)
  await create({ ...size, id: 'd', name: 'd', description: 'text' }, '2.55')
  const call = { params: { flavor_id: 'd' }, body: { flavor: { description: 'new' } } }

  expect((await admin.call('updateFlavor', { ...call, version: '2.54' })).status).toBe(404)
  const updated = await admin.call('updateFlavor', { ...call, version: '2.55' })

  expect(updated.body['flavor']).toMatchObject({ description: 'new' })
})

test('users may neither create, change nor delete flavors', async () => {
  const params = { flavor_id: 'd' }
  const flavor = { ...size, name: 'mine' }
  expect((await alice.call('createFlavor', { body: { flavor } })).status).toBe(403)
  expect((await alice.call('deleteFlavor', { params })).status).toBe(403)
  expect((await alice.call('listFlavorAccess', { params })).status).toBe(403)
})

test('a private flavor is seen by projects with access and by administrators only', async () => {
  await create({ ...size, id: 'p', name: 'private', 'os-flavor-access:is_public': false })
  const params = { flavor_id: 'p' }
  const tenant = alice.projectId

  const added = await admin.call('addFlavorAccess', {
    params,
    body: { addTenantAccess: { tenant } },
  })
  expect(added.body['flavor_access']).toEqual([{ flavor_id: 'p', tenant_id: tenant }])
  expect([await idsOf(alice), await idsOf(bob)].map((ids) => ids.includes('p'))).toEqual([
    true,
    false,
  ])
  expect((await show(alice, 'p')).status).toBe(200)
  expect((await show(bob, 'p')).status).toBe(404)
  expect(await idsOf(admin)).not.toContain('p')
  expect(await idsOf(admin, '?is_public=None')).toContain('p')
  expect(await idsOf(admin, '?is_public=false')).toEqual(['p'])
  expect(await idsOf(bob, '?is_public=None')).not.toContain('p')

  const again = await admin.call('addFlavorAccess', {
    params,
    body: { addTenantAccess: { tenant } },
  })
  expect(again.status).toBe(409)
  const remove = { params, body: { removeTenantAccess: { tenant } } }
  expect((await admin.call('removeFlavorAccess', remove)).body['flavor_access']).toEqual([])
  expect((await admin.call('removeFlavorAccess', remove)).status).toBe(404)
  const nobody = { addTenantAccess: { tenant: 'f'.repeat(32) } }
  expect((await admin.call('addFlavorAccess', { params, body: nobody })).body).toEqual({
    badRequest: { code: 400, message: `Project ID ${'f'.repeat(32)} is not a valid project.` },
  })
  expect((await show(alice, 'p')).status).toBe(404)
})

test('flavors are paged in any order, each once', async () => {
  for (const n of [5, 3, 9, 1, 7]) {
    const flavor = { ...size, id: `page-${n}`, name: `page-${n}`, ram: 1_000 + (n % 3) }
    await create(flavor)
  }
  const seen: string[] = []
  let query = '?minRam=1000&sort_key=memory_mb&sort_dir=desc&limit=2'
  for (let page = 0; page < 4 && query !== ''; page += 1) {
    const { body } = await alice.call<FlavorPage>('listFlavors', { query })
    const { flavors, flavors_links } = body
    seen.push(...flavors.map(({ id }) => id))
    query = flavors_links === undefined ? '' : new URL(flavors_links[0].href).search
  }

  expect(seen).toEqual(['page-5', 'page-7', 'page-1', 'page-9', 'page-3'])
})

test.each(['minRam=x', 'minDisk=1.5', 'marker=nothing', 'sort_key=colour', 'limit=-1', 'limit=x'])(
  'the list filter %s is refused',
  async (query) => {
    expect((await admin.call('listFlavors', { query: `?${query}` })).status).toBe(400)
  },
)

test('unknown query parameters are refused from 2.75 on', async () => {
  expect((await alice.call('listFlavors', { query: '?x=1', version: '2.74' })).status).toBe(200)
  expect((await alice.call('listFlavors', { query: '?x=1', version: '2.75' })).status).toBe(400)
})

test('extra specs are set, shown, changed and removed one by one', async () => {
  await create({ ...size, id: 'e', name: 'extra' })
  const params = { flavor_id: 'e', key: 'hw:cpu_policy' }
  const specs = (body: object, version: Microversion = '2.1') =>
    admin.call('createFlavorExtraSpecs', { params, body: { extra_specs: body }, version })

  expect((await specs({ 'hw:cpu_policy': 'shared', anything: 1 })).body['extra_specs']).toEqual({
    'hw:cpu_policy': 'shared',
    anything: '1',
  })
  const number = { params: { ...params, key: 'anything' }, body: { anything: 2.5 } }
  expect((await admin.call('updateFlavorExtraSpec', number)).body).toEqual({ anything: '2.5' })
  for (const wrong of [true, null, { b: 1 }, [1]])
    expect((await specs({ anything: wrong })).status).toBe(400)
  await specs({ anything: 1 })
  await admin.call('updateFlavorExtraSpec', { params, body: { 'hw:cpu_policy': 'dedicated' } })
  expect((await alice.call('showFlavorExtraSpec', { params })).body).toEqual({
    'hw:cpu_policy': 'dedicated',
  })
  const mismatch = await admin.call('updateFlavorExtraSpec', { params, body: { other: 'x' } })
  expect(mismatch.status).toBe(400)
  expect((await admin.call('deleteFlavorExtraSpec', { params })).status).toBe(200)
  expect((await admin.call('deleteFlavorExtraSpec', { params })).status).toBe(404)
  expect((await alice.call('listFlavorExtraSpecs', { params })).body['extra_specs']).toEqual({
    anything: '1',
  })

  expect((await specs({ 'hw:cpu_polcy': 'shared' }, '2.85')).status).toBe(200)
  expect((await specs({ 'hw:cpu_polcy': 'shared' }, '2.86')).status).toBe(400)
  expect((await specs({ 'hw:cpu_policy': 'some' }, '2.86')).status).toBe(400)
  expect((await specs({ 'mine:any': 'thing' }, '2.86')).status).toBe(200)
})

test('access to a public flavor is refused since 2.7, and was noted before', async () => {
  await create({ ...size, id: 'open', name: 'open' })
  const add = {
    params: { flavor_id: 'open' },
    body: { addTenantAccess: { tenant: bob.projectId } },
  }

  expect((await admin.call('addFlavorAccess', { ...add, version: '2.7' })).status).toBe(409)
  expect((await admin.call('addFlavorAccess', { ...add, version: '2.6' })).status).toBe(200)
})
