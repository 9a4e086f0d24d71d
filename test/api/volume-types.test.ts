import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { chargeVolumes, refundVolumes } from '#gateway/app/volumes/quotas.ts'
import type { Json } from './identity-world.ts'
import { listOf, textOf } from './json.ts'
import { faultOf, type VolumeApi, volumeApi } from './volume-api.ts'

// Goal: operators describe the kinds of volumes, and users see those that are meant for them.

let api: VolumeApi
let made = 0

beforeAll(async () => {
  api = await volumeApi()
})
afterAll(() => api?.[Symbol.asyncDispose]())
beforeEach(() => {
  made += 1
})

const create = async (fields: object = {}): Promise<Json> => {
  const volume_type = { name: `type-${made}`, ...fields }
  const { status, body } = await api.admin('POST', 'types', { volume_type })
  expect(status).toBe(200)
  return body['volume_type']!
}
const PRIVATE = { 'os-volume-type-access:is_public': false }
const idOf = (type: Json) => textOf(type['id'])
const names = (body: Json) => listOf(body['volume_types']).map((type) => type['name'])

test('a type is created, shown, changed and deleted', async () => {
  const type = await create({ description: 'Fast.', extra_specs: { multiattach: '<is> True' } })
  const path = `types/${idOf(type)}`

  expect(type).toEqual({
    id: idOf(type),
    name: `type-${made}`,
    is_public: true,
    description: 'Fast.',
    extra_specs: { multiattach: '<is> True' },
    qos_specs_id: null,
    'os-volume-type-access:is_public': true,
  })
  expect((await api.admin('GET', path)).body).toEqual({ volume_type: type })

  const changed = await api.admin('PUT', path, {
    volume_type: { name: `renamed-${made}`, description: null, is_public: false },
  })
  expect(changed.body['volume_type']).toMatchObject({
    name: `renamed-${made}`,
    description: 'Fast.',
    is_public: false,
  })
  expect((await api.admin('DELETE', path)).status).toBe(202)
  expect(faultOf(await api.admin('GET', path))).toEqual([
    'itemNotFound',
    404,
    `Volume type ${idOf(type)} could not be found.`,
  ])
})

test('a name is taken once, by a new type and by a renamed one', async () => {
  await create()
  const other = await create({ name: `other-${made}` })
  const volume_type = { name: `type-${made}` }
  const taken = ['conflictingRequest', 409, `Volume Type type-${made} already exists.`]

  expect(faultOf(await api.admin('POST', 'types', { volume_type }))).toEqual(taken)
  expect(faultOf(await api.admin('PUT', `types/${idOf(other)}`, { volume_type }))).toEqual(taken)
})

test.each([
  [{}, 'Specify volume type name'],
  [{ name: null, description: null }, 'Specify volume type name'],
  [{ name: ' ' }, 'name'],
  [{ extra_specs: {} }, "'extra_specs' is not known"],
])('the change %j is refused', async (volume_type, message) => {
  const type = await create()
  const reply = await api.admin('PUT', `types/${idOf(type)}`, { volume_type })

  expect(faultOf(reply).slice(0, 2)).toEqual(['badRequest', 400])
  expect(faultOf(reply)[2]).toContain(message)
})

test('a user sees public types, and private ones that the project was given', async () => {
  const type = await create(PRIVATE)
  const path = `types/${idOf(type)}`
  const project = api.projects.demo
  const access = (key: string) => api.admin('POST', `${path}/action`, { [key]: { project } })
  const isListed = async () => names((await api.demo('GET', 'types')).body).includes(type['name'])

  expect(faultOf(await api.demo('GET', path)).slice(0, 2)).toEqual(['itemNotFound', 404])
  expect(await isListed()).toBe(false)

  expect((await access('addProjectAccess')).status).toBe(202)
  expect(faultOf(await access('addProjectAccess')).slice(0, 2)).toEqual(['conflictingRequest', 409])
  expect((await api.demo('GET', path)).status).toBe(200)
  expect(await isListed()).toBe(true)
  expect((await api.admin('GET', `${path}/os-volume-type-access`)).body).toEqual({
    volume_type_access: [{ volume_type_id: idOf(type), project_id: project }],
  })

  expect((await access('removeProjectAccess')).status).toBe(202)
  expect(faultOf(await access('removeProjectAccess')).slice(0, 2)).toEqual(['itemNotFound', 404])
  expect((await api.demo('GET', path)).status).toBe(404)
})

test('access to a public type is neither listed nor changed, and is given to projects only', async () => {
  const path = `types/${idOf(await create())}`
  const hidden = `types/${idOf(await create({ name: `hidden-${made}`, ...PRIVATE }))}`
  const addProjectAccess = { project: api.projects.demo }
  const unknown = { project: 'f'.repeat(32) }

  const list = await api.admin('GET', `${path}/os-volume-type-access`)
  const change = await api.admin('POST', `${path}/action`, { addProjectAccess })
  const nobody = await api.admin('POST', `${hidden}/action`, { addProjectAccess: unknown })
  expect(faultOf(list).slice(0, 2)).toEqual(['itemNotFound', 404])
  expect(faultOf(change).slice(0, 2)).toEqual(['badRequest', 400])
  expect(faultOf(nobody)[2]).toBe(`Project ID ${unknown.project} is not a valid project.`)
})

test('administrators list by visibility; others cannot', async () => {
  const type = await create(PRIVATE)
  const listed = async (query: string) => names((await api.admin('GET', `types${query}`)).body)

  expect(await listed('')).not.toContain(type['name'])
  expect(await listed('?is_public=None')).toContain(type['name'])
  expect(await listed('?is_public=False')).toContain(type['name'])
  expect(await listed('?is_public=True')).not.toContain(type['name'])
  expect(faultOf(await api.admin('GET', 'types?is_public=maybe'))[2]).toContain('[maybe]')
  expect(names((await api.demo('GET', 'types?is_public=None')).body)).not.toContain(type['name'])
})

test('a list is sorted, the newest first by default, and comes in pages', async () => {
  for (const letter of ['b', 'c', 'a']) await create({ name: `z${letter}-${made}` })
  const own = async (query: string) => {
    const { body } = await api.demo('GET', `types?${query}`)
    return { ours: names(body).filter((name) => textOf(name).startsWith('z')), body }
  }

  expect((await own('')).ours).toEqual([`za-${made}`, `zc-${made}`, `zb-${made}`])
  const sorted = [`zc-${made}`, `zb-${made}`, `za-${made}`]
  expect((await own('sort=name')).ours).toEqual(sorted)
  expect((await own('sort_key=name&sort_dir=asc')).ours).toEqual(sorted.toReversed())

  const first = await own('sort=name:desc&limit=2')
  expect(first.ours).toEqual(sorted.slice(0, 2))
  const [link] = listOf(first.body['volume_type_links'])
  const next = new URL(textOf(link?.['href']))
  expect((await own(next.search.slice(1))).ours).toEqual(sorted.slice(2))
  expect((await own('sort=name:desc&limit=1&offset=1')).ours).toEqual([sorted[1]])
})

test.each([
  'sort=size',
  'sort=name:up',
  'sort=name&sort_key=name',
  'sort=name:asc:asc',
  'marker=x',
])('the list refuses %s', async (query) => {
  expect(faultOf(await api.demo('GET', `types?${query}`)).slice(0, 2)).toEqual(['badRequest', 400])
})

test('extra specs are added, changed and removed; users see what concerns them', async () => {
  const type = await create({ extra_specs: { a: '1', multiattach: '<is> True' } })
  const path = `types/${idOf(type)}/extra_specs`

  expect((await api.admin('POST', path, { extra_specs: { b: 2, a: '3' } })).body).toEqual({
    extra_specs: { a: '3', b: '2' },
  })
  expect((await api.admin('PUT', `${path}/b`, { b: '4' })).body).toEqual({ b: '4' })
  expect((await api.admin('GET', path)).body).toEqual({
    extra_specs: { a: '3', b: '4', multiattach: '<is> True' },
  })
  expect((await api.demo('GET', path)).body).toEqual({ extra_specs: { multiattach: '<is> True' } })
  expect((await api.demo('GET', `${path}/a`)).status).toBe(404)
  const shown = await api.demo('GET', `types/${idOf(type)}`)
  expect(shown.body['volume_type']).toMatchObject({ extra_specs: { multiattach: '<is> True' } })
  expect(shown.body['volume_type']).not.toHaveProperty('qos_specs_id')

  expect((await api.admin('DELETE', `${path}/a`)).status).toBe(202)
  expect(faultOf(await api.admin('DELETE', `${path}/a`))).toEqual([
    'itemNotFound',
    404,
    `Volume Type ${idOf(type)} has no extra specs with key a.`,
  ])
  const mismatch = await api.admin('PUT', `${path}/a`, { b: '4' })
  expect(faultOf(mismatch)[2]).toBe('Request body and URI mismatch')
})

test('types are found by their extra specs since 3.52, by users only by those that they see', async () => {
  const type = await create({ extra_specs: { secret: '1', multiattach: '<is> True' } })
  const find = async (as: 'admin' | 'demo', specs: string, version: '3.51' | '3.52') => {
    const query = `types?extra_specs=${encodeURIComponent(specs)}`
    return names((await api[as]('GET', query, undefined, version)).body)
  }

  expect(await find('admin', "{'secret': '1'}", '3.52')).toEqual([type['name']])
  expect(await find('admin', '{"secret": "2"}', '3.52')).toEqual([])
  expect(await find('demo', "{'secret': '1'}", '3.52')).toEqual([])
  expect(await find('demo', "{'multiattach': '<is> True'}", '3.52')).toContain(type['name'])
  expect((await find('admin', "{'secret': '1'}", '3.51')).length).toBeGreaterThan(1)
  const malformed = await api.admin('GET', 'types?extra_specs=secret', undefined, '3.52')
  expect(faultOf(malformed)[2]).toContain('[secret]')
})

test('a type that volumes have is neither deleted nor given other extra specs', async () => {
  const type = await create({ extra_specs: { a: '1' } })
  const path = `types/${idOf(type)}`
  const owner = { projectId: api.projects.demo, typeId: idOf(type) }
  const volume = { volumes: 1, gigabytes: 1 }
  const { db } = api.http.gateway
  await db.transaction((tx) => chargeVolumes(tx, owner, volume))

  expect(faultOf(await api.admin('DELETE', path))).toEqual([
    'badRequest',
    400,
    'Target volume type is still in use.',
  ])
  const specs = { extra_specs: { a: '2' } }
  for (const reply of [
    await api.admin('POST', `${path}/extra_specs`, specs),
    await api.admin('PUT', `${path}/extra_specs/a`, specs.extra_specs),
    await api.admin('DELETE', `${path}/extra_specs/a`),
  ])
    expect(faultOf(reply)[2]).toBe('Volume Type is currently in use.')
  expect((await api.admin('GET', path)).body['volume_type']).toMatchObject({
    extra_specs: { a: '1' },
  })

  await db.transaction(async (tx) => refundVolumes(tx, owner, volume))
  expect((await api.admin('DELETE', path)).status).toBe(202)
})

test('the default is the one of the project, else the one of the cloud, and stays', async () => {
  const shown = async () => (await api.demo('GET', 'types/default')).body['volume_type']?.['name']
  expect(faultOf(await api.demo('GET', 'types/default'))[2]).toBe(
    'Default volume type can not be found.',
  )
  const cloud = await create({ name: '__DEFAULT__' })
  expect(await shown()).toBe('__DEFAULT__')

  const type = await create(PRIVATE)
  const path = `default-types/${api.projects.demo}`
  const set = (volume_type: unknown) =>
    api.admin('PUT', path, { default_type: { volume_type } }, '3.62')
  const chosen = { project_id: api.projects.demo, volume_type_id: idOf(type) }
  expect((await set(type['name'])).body).toEqual({ default_type: chosen })
  expect((await set(idOf(type))).body).toEqual({ default_type: chosen })
  expect((await api.admin('GET', path, undefined, '3.62')).body).toEqual({ default_type: chosen })
  const list = await api.admin('GET', 'default-types', undefined, '3.62')
  expect(list.body).toEqual({ default_types: [chosen] })
  expect(await shown()).toBe(type['name'])
  expect(faultOf(await set('nothing')).slice(0, 2)).toEqual(['badRequest', 400])

  for (const each of [cloud, type])
    expect(faultOf(await api.admin('DELETE', `types/${idOf(each)}`))).toEqual([
      'badRequest',
      400,
      `The volume type ${idOf(each)} is a default volume type and cannot be deleted.`,
    ])
  expect((await api.admin('DELETE', path, undefined, '3.62')).status).toBe(204)
  expect((await api.admin('GET', path, undefined, '3.62')).status).toBe(404)
  expect((await api.admin('DELETE', `types/${idOf(type)}`)).status).toBe(202)
  expect(await shown()).toBe('__DEFAULT__')
})

test('the encryption of a type is created, shown, changed and deleted', async () => {
  const id = idOf(await create())
  const path = `types/${id}/encryption`
  const encryption = { provider: 'luks', control_location: 'front-end' }
  expect((await api.admin('GET', path)).body).toEqual({})

  const made = await api.admin('POST', path, { encryption: { ...encryption, key_size: '256' } })
  const { encryption_id } = made.body['encryption'] as unknown as { encryption_id: string }
  const shown = { ...encryption, cipher: null, key_size: 256, encryption_id, volume_type_id: id }
  expect(made).toMatchObject({ status: 200, body: { encryption: shown } })
  expect((await api.admin('GET', path)).body).toMatchObject({ ...shown, deleted: false })
  expect((await api.admin('GET', `${path}/provider`)).body).toEqual({ provider: 'luks' })
  const again = await api.admin('POST', path, { encryption })
  expect(faultOf(again).slice(1)).toEqual([
    400,
    `Volume type encryption for type ${id} already exists.`,
  ])
  const change = { cipher: 'aes-xts-plain64', key_size: 128 }
  const changed = await api.admin('PUT', `${path}/${encryption_id}`, { encryption: change })
  expect(changed.body).toEqual({ encryption: { ...encryption, ...change } })

  // The client of Cinder names the provider instead of the id.
  const own = await api.admin('PUT', `${path}/provider`, { encryption: { key_size: 256 } })
  expect(own.body).toEqual({ encryption: { ...encryption, ...change, key_size: 256 } })
  expect((await api.admin('DELETE', `${path}/provider`)).status).toBe(202)
  expect((await api.admin('GET', path)).body).toEqual({})
  for (const [method, body] of [
    ['PUT', { encryption: change }],
    ['DELETE', undefined],
  ] as const)
    expect(faultOf(await api.admin(method, `${path}/provider`, body)).slice(0, 2)).toEqual([
      'itemNotFound',
      404,
    ])
  for (const key of ['cipher', 'key_size'])
    expect((await api.admin('GET', `${path}/${key}`)).status).toBe(404)
  expect(faultOf(await api.demo('GET', path)).slice(0, 2)).toEqual(['forbidden', 403])
})

test.each([
  [{ provider: 'plain' }, "there is no provider 'plain'"],
  [{ control_location: 'back-end' }, "control_location must be front-end, not 'back-end'"],
  [{ cipher: 'aes-cbc-essiv' }, "there is no cipher 'aes-cbc-essiv'"],
  [{ key_size: 512 }, 'a key_size of 128 or 256 bits, as Cinder counts them, not 512'],
])('an encryption that there is not is refused: %j', async (wrong, reason) => {
  const encryption = { provider: 'luks', control_location: 'front-end', ...wrong }
  const path = `types/${idOf(await create())}/encryption`

  expect(faultOf(await api.admin('POST', path, { encryption }))).toEqual([
    'badRequest',
    400,
    expect.stringContaining(reason),
  ])
  expect((await api.admin('GET', path)).body).toEqual({})
})

test('only administrators change types', async () => {
  const path = `types/${idOf(await create())}`
  const volume_type = { name: 'mine' }
  for (const reply of [
    await api.demo('POST', 'types', { volume_type }),
    await api.demo('PUT', path, { volume_type }),
    await api.demo('DELETE', path),
    await api.demo('POST', `${path}/extra_specs`, { extra_specs: { a: '1' } }),
  ])
    expect(faultOf(reply).slice(0, 2)).toEqual(['forbidden', 403])
})
