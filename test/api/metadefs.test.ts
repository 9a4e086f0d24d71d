import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ImageApi, imageApi } from './image-api.ts'

let api: ImageApi
/** New for each test. */
let name: string
let names = 0

beforeAll(async () => {
  api = await imageApi()
})

beforeEach(() => {
  names += 1
  name = `Space::${names}`
})

afterAll(() => api?.[Symbol.asyncDispose]())

const NAMESPACES = '/metadefs/namespaces'
const FLAVOR = 'OS::Nova::Flavor'

async function answer(method: string, path: string, body?: object, token = api.admin) {
  return api.ask(token, method, path, body)
}

async function expectStatus(status: number, method: string, path: string, body?: object) {
  const reply = await answer(method, path, body)
  expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBe(status)
  return reply.body as unknown as Record<string, never>
}

const make = (fields: object = {}) =>
  expectStatus(201, 'POST', NAMESPACES, { namespace: name, ...fields })

async function listed(query = '', token = api.admin): Promise<readonly string[]> {
  const { body } = await answer('GET', `${NAMESPACES}?limit=1000&${query}`, undefined, token)
  return (body['namespaces'] as unknown as { namespace: string }[]).map((it) => it.namespace)
}

const WHOLE = {
  display_name: 'Shown so',
  description: 'What it is for.',
  visibility: 'public',
  resource_type_associations: [
    { name: FLAVOR, prefix: 'x:' },
    { name: 'Other', properties_target: 'image' },
  ],
  properties: {
    colour: { title: 'Colour', type: 'string', enum: ['red', 'blue'], default: 'red' },
    size: { title: 'Size', type: 'integer', minimum: 1 },
  },
  objects: [
    {
      name: 'Box',
      description: 'A box.',
      required: ['width'],
      properties: { width: { title: 'Width', type: 'number' } },
    },
  ],
  tags: [{ name: 'one' }, { name: 'two' }],
}

test('a namespace is made with all that is in it, and shown so', async () => {
  const made = await make(WHOLE)
  expect(made).toMatchObject({
    namespace: name,
    ...WHOLE,
    protected: false,
    owner: api.adminProject,
    schema: '/v2/schemas/metadefs/namespace',
    self: `/v2/metadefs/namespaces/${name}`,
  })
  expect(await expectStatus(200, 'GET', `${NAMESPACES}/${name}`)).toEqual(made)
  await expectStatus(409, 'POST', NAMESPACES, { namespace: name })
  await expectStatus(409, 'POST', NAMESPACES, {
    namespace: `${name}-twice`,
    tags: [{ name: 'a' }, { name: 'a' }],
  })
  await expectStatus(400, 'POST', NAMESPACES, {
    namespace: `${name}-wrong`,
    properties: { colour: { title: 'Colour', type: 'hue' } },
  })

  const prefixed = await expectStatus(200, 'GET', `${NAMESPACES}/${name}?resource_type=${FLAVOR}`)
  expect(Object.keys(prefixed['properties'] ?? {})).toEqual(['x:colour', 'x:size'])
  expect(prefixed['objects']).toMatchObject([
    { required: ['x:width'], properties: { 'x:width': { type: 'number' } } },
  ])
  expect((await expectStatus(200, 'GET', '/metadefs/resource_types'))['resource_types']).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'Other' }),
      expect.objectContaining({ name: 'OS::Glance::Image' }),
    ]),
  )
})

test('an update replaces the attributes of a namespace and keeps its content', async () => {
  await make(WHOLE)
  const changed = await expectStatus(200, 'PUT', `${NAMESPACES}/${name}`, {
    namespace: `${name}-new`,
    protected: true,
  })
  expect(changed).toMatchObject({
    namespace: `${name}-new`,
    protected: true,
    visibility: 'private',
  })
  expect(changed).not.toHaveProperty('display_name')
  await expectStatus(404, 'GET', `${NAMESPACES}/${name}`)
  const { properties, objects, tags } = await expectStatus(200, 'GET', `${NAMESPACES}/${name}-new`)
  expect({ properties, objects, tags }).toMatchObject({
    properties: WHOLE.properties,
    tags: WHOLE.tags,
  })

  await make()
  await expectStatus(409, 'PUT', `${NAMESPACES}/${name}`, { namespace: `${name}-new` })
})

test('no part of a protected namespace can be deleted, and parts can be added', async () => {
  await make({ ...WHOLE, protected: true })
  const path = `${NAMESPACES}/${name}`
  for (const part of [
    '',
    '/properties',
    '/properties/colour',
    '/objects',
    '/objects/Box',
    '/tags',
    '/tags/one',
    `/resource_types/${FLAVOR}`,
  ])
    await expectStatus(403, 'DELETE', path + part)
  await expectStatus(201, 'POST', `${path}/tags/three`)

  await expectStatus(200, 'PUT', path, { namespace: name, protected: false })
  await expectStatus(204, 'DELETE', path)
  await expectStatus(404, 'GET', path)
  await expectStatus(404, 'DELETE', path)
})

test('properties are added, shown with their prefix, replaced and removed', async () => {
  await make({ resource_type_associations: [{ name: FLAVOR, prefix: 'x:' }] })
  const path = `${NAMESPACES}/${name}/properties`
  const colour = { name: 'colour', title: 'Colour', type: 'string', operators: ['<or>'] }
  expect(await expectStatus(201, 'POST', path, colour)).toEqual(colour)
  await expectStatus(409, 'POST', path, colour)
  expect(await expectStatus(200, 'GET', `${path}/colour`)).toEqual(colour)
  const type = `resource_type=${FLAVOR}`
  expect(await expectStatus(200, 'GET', `${path}/x:colour?${type}`)).toEqual(colour)
  await expectStatus(404, 'GET', `${path}/colour?${type}`)
  await expectStatus(404, 'GET', `${path}/x:colour?resource_type=Other`)

  const hue = { name: 'hue', title: 'Hue', type: 'integer' }
  expect(await expectStatus(200, 'PUT', `${path}/colour`, hue)).toEqual(hue)
  await expectStatus(404, 'GET', `${path}/colour`)
  await expectStatus(404, 'PUT', `${path}/colour`, hue)
  expect((await expectStatus(200, 'GET', path))['properties']).toEqual({
    hue: { title: 'Hue', type: 'integer' },
  })
  await expectStatus(204, 'DELETE', `${path}/hue`)
  await expectStatus(404, 'DELETE', `${path}/hue`)
  await expectStatus(201, 'POST', path, colour)
  await expectStatus(204, 'DELETE', path)
  expect((await expectStatus(200, 'GET', path))['properties']).toEqual({})
})

test('objects are added, listed by page, replaced and removed', async () => {
  await make()
  const path = `${NAMESPACES}/${name}/objects`
  for (const object of ['a', 'b', 'c']) await expectStatus(201, 'POST', path, { name: object })
  await expectStatus(409, 'POST', path, { name: 'a' })
  const found = async (query: string) => {
    const { objects } = await expectStatus(200, 'GET', `${path}?${query}`)
    return (objects as unknown as { name: string }[]).map((it) => it.name)
  }
  expect(await found('sort_key=name&sort_dir=asc&limit=2')).toEqual(['a', 'b'])
  expect(await found('sort_key=name&sort_dir=asc&marker=b')).toEqual(['c'])
  expect(await found('sort_key=name&sort_dir=desc')).toEqual(['c', 'b', 'a'])
  await expectStatus(400, 'GET', `${path}?sort_key=colour`)

  const changed = { name: 'd', description: 'Another', required: ['w'] }
  expect(await expectStatus(200, 'PUT', `${path}/a`, changed)).toMatchObject({
    ...changed,
    self: `/v2/metadefs/namespaces/${name}/objects/d`,
  })
  await expectStatus(409, 'PUT', `${path}/d`, { name: 'b' })
  await expectStatus(404, 'GET', `${path}/a`)
  await expectStatus(204, 'DELETE', `${path}/d`)
  await expectStatus(204, 'DELETE', path)
  expect(await found('')).toEqual([])
})

test('tags are set at once or one by one', async () => {
  await make({ tags: [{ name: 'old' }] })
  const path = `${NAMESPACES}/${name}/tags`
  const tags = async () => {
    const { tags: found } = await expectStatus(200, 'GET', `${path}?sort_key=name&sort_dir=asc`)
    return (found as unknown as { name: string }[]).map((it) => it.name)
  }
  await expectStatus(201, 'POST', path, { tags: [{ name: 'a' }, { name: 'b' }] })
  expect(await tags()).toEqual(['a', 'b'])
  const headers = { 'x-openstack-append': 'True' }
  const asked = { token: api.admin, body: { tags: [{ name: 'c' }] }, headers }
  expect((await api.http.ask('POST', `/image/v2${path}`, asked)).status).toBe(201)
  expect(await tags()).toEqual(['a', 'b', 'c'])
  expect((await api.http.ask('POST', `/image/v2${path}`, asked)).status).toBe(409)

  expect(await expectStatus(201, 'POST', `${path}/d`)).toMatchObject({ name: 'd' })
  await expectStatus(409, 'POST', `${path}/d`)
  expect(await expectStatus(200, 'PUT', `${path}/d`, { name: 'e' })).toMatchObject({ name: 'e' })
  await expectStatus(404, 'GET', `${path}/d`)
  await expectStatus(204, 'DELETE', `${path}/e`)
  expect(await tags()).toEqual(['a', 'b', 'c'])
  await expectStatus(204, 'DELETE', path)
  expect(await tags()).toEqual([])
})

test('a namespace applies to kinds of things', async () => {
  await make()
  const path = `${NAMESPACES}/${name}/resource_types`
  const association = { name: FLAVOR, prefix: 'x:', properties_target: 'image' }
  expect(await expectStatus(201, 'POST', path, association)).toMatchObject(association)
  await expectStatus(409, 'POST', path, association)
  expect((await expectStatus(200, 'GET', path))['resource_type_associations']).toMatchObject([
    association,
  ])
  await expectStatus(204, 'DELETE', `${path}/${FLAVOR}`)
  await expectStatus(404, 'DELETE', `${path}/${FLAVOR}`)
})

test('namespaces are found by kind, visibility and page', async () => {
  await make({ resource_type_associations: [{ name: `${name}-kind` }] })
  const kind = `resource_types=${name}-kind`
  expect(await listed(kind)).toEqual([name])
  expect(await listed(`${kind}&visibility=public`)).toEqual([])
  expect(await listed(`${kind}&visibility=private`)).toEqual([name])
  expect(await listed(`resource_types=nothing,${name}-kind`)).toEqual([name])

  const all = await listed('sort_key=namespace&sort_dir=asc')
  const pages: string[] = []
  for (let path = `${NAMESPACES}?sort_key=namespace&sort_dir=asc&limit=4`; path !== ''; ) {
    const body = await expectStatus(200, 'GET', path)
    pages.push(
      ...(body['namespaces'] as unknown as { namespace: string }[]).map((it) => it.namespace),
    )
    path = ((body['next'] as string | undefined) ?? '').replace('/v2', '')
  }
  expect(pages).toEqual(all)
  await expectStatus(404, 'GET', `${NAMESPACES}?marker=nothing`)
  await expectStatus(400, 'GET', `${NAMESPACES}?visibility=shared`)
})

test('other projects see public namespaces, and cannot change them', async () => {
  await make(WHOLE)
  const hidden = `${name}-hidden`
  await expectStatus(201, 'POST', NAMESPACES, { namespace: hidden })
  const asDemo = async (method: string, path: string, body?: object) =>
    (await answer(method, path, body, api.demo)).status

  expect(await listed('', api.demo)).toContain(name)
  expect(await listed('', api.demo)).not.toContain(hidden)
  expect(await asDemo('GET', `${NAMESPACES}/${name}`)).toBe(200)
  for (const part of ['', '/objects', '/properties', '/tags', '/resource_types'])
    expect(await asDemo('GET', `${NAMESPACES}/${hidden}${part}`)).toBe(404)
  expect(await asDemo('POST', NAMESPACES, { namespace: 'mine' })).toBe(403)
  expect(await asDemo('DELETE', `${NAMESPACES}/${name}`)).toBe(403)
  expect(await asDemo('GET', `${NAMESPACES}?marker=${hidden}`)).toBe(404)

  await expectStatus(201, 'POST', NAMESPACES, { namespace: `${name}-lent`, owner: api.demoProject })
  expect(await listed('visibility=private', api.demo)).toContain(`${name}-lent`)
})

test('properties with an effect here are defined, and cannot be changed', async () => {
  const asked = `${NAMESPACES}/OS::Compute::Watchdog`
  const shown = await answer('GET', `${asked}?resource_type=${FLAVOR}`, undefined, api.demo)
  expect(shown.body).toMatchObject({
    visibility: 'public',
    protected: true,
    properties: { 'hw:watchdog_action': { enum: expect.arrayContaining(['pause']) as unknown } },
  })
  for (const [method, path, body] of [
    ['DELETE', asked, undefined],
    ['PUT', asked, { namespace: 'OS::Compute::Watchdog' }],
    ['POST', `${asked}/tags/mine`, undefined],
    ['DELETE', `${asked}/properties`, undefined],
  ] as const)
    await expectStatus(403, method, path, body)
  await expectStatus(409, 'POST', NAMESPACES, { namespace: 'OS::Compute::Watchdog' })
  await make()
  await expectStatus(409, 'PUT', `${NAMESPACES}/${name}`, { namespace: 'OS::Compute::Watchdog' })
})

test('a namespace holds only so much', async () => {
  await make()
  const path = `${NAMESPACES}/${name}/objects`
  const large = (object: string) => ({
    name: object,
    properties: Object.fromEntries(
      Array.from({ length: 40 }, (_, nth) => [
        `p${nth}`,
        { title: 't', type: 'string', description: 'd'.repeat(4_000) },
      ]),
    ),
  })
  await expectStatus(201, 'POST', path, large('first'))
  await expectStatus(413, 'POST', path, large('second'))
})

test('the schemas are those of the answers', async () => {
  for (const one of ['namespace', 'resource_type', 'property', 'object', 'tag']) {
    const plural = one === 'property' ? 'properties' : `${one}s`
    expect(await expectStatus(200, 'GET', `/schemas/metadefs/${one}`)).toMatchObject({
      additionalProperties: false,
    })
    await expectStatus(200, 'GET', `/schemas/metadefs/${plural}`)
  }
  await expectStatus(404, 'GET', '/schemas/metadefs/nothing')
})
