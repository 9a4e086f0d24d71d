import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume lives from its creation to its end as Cinder's do, in a store of some cell, and leaves nothing.

interface VolumeBody {
  readonly id: string
  readonly name: string
  readonly size: number
  readonly status: string
  readonly [field: string]: unknown
}

const VOLUMES = '/volume/v3/volumes'
const LIMIT_MS = 30_000

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  await storesReported(cloud)
  admin = cloud.as('admin')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const made = (fields: object) => demo.post(VOLUMES, { volume: { size: 1, ...fields } })
const act = (id: string, action: object, who = demo) => who.post(`${VOLUMES}/${id}/action`, action)

async function show(id: string, who = demo): Promise<VolumeBody | undefined> {
  const { status, body } = await who.get(`${VOLUMES}/${id}`)
  return status === 404 ? undefined : (body['volume'] as VolumeBody)
}

function untilStatus(id: string, wanted: string): Promise<VolumeBody> {
  return waitFor(
    `volume ${id} is ${wanted}`,
    async () => {
      const volume = await show(id)
      return volume?.status === wanted ? volume : undefined
    },
    LIMIT_MS,
  )
}

async function available(fields: object = {}): Promise<VolumeBody> {
  const { body } = await made(fields)
  return untilStatus((body['volume'] as VolumeBody).id, 'available')
}

const untilGone = (id: string) =>
  waitFor(`volume ${id} is gone`, async () => (await show(id)) === undefined, LIMIT_MS)

test('a volume is promised, made in a store, extended, renamed and deleted', async () => {
  const asked = await made({ name: 'data', description: 'of mine', metadata: { a: 'b' }, size: 2 })

  expect(asked.status).toBe(202)
  expect(asked.body['volume']).toMatchObject({ name: 'data', size: 2, status: 'creating' })
  const { id } = asked.body['volume'] as VolumeBody
  expect(await untilStatus(id, 'available')).toMatchObject({
    description: 'of mine',
    metadata: { a: 'b' },
    bootable: 'false',
    encrypted: false,
    attachments: [],
  })
  expect((await act(id, { 'os-extend': { new_size: 3 } })).status).toBe(202)
  await waitFor('the new size', async () => (await show(id))?.size === 3, LIMIT_MS)
  await demo.put(`${VOLUMES}/${id}`, { volume: { name: 'renamed' } })
  expect(await untilStatus(id, 'available')).toMatchObject({ name: 'renamed', size: 3 })
  expect((await demo.delete(`${VOLUMES}/${id}`)).status).toBe(202)
  await untilGone(id)
})

test('what cannot be is refused in the words of Cinder, and nothing is charged', async () => {
  const { id } = await available()
  const refusals = [
    await made({ size: 0 }),
    await made({ availability_zone: 'mars' }),
    await made({ multiattach: true }),
    await act(id, { 'os-extend': { new_size: 1 } }),
    await act(id, { 'os-force_delete': {} }),
    await demo.get(`${VOLUMES}/${newId()}`),
    await demo.delete(`${VOLUMES}/${newId()}`),
    await act(id, { 'os-extend': { new_size: 5_000 } }),
    await demo.get(`${VOLUMES}?sort=colour`),
  ]

  expect(refusals.map(({ status }) => status)).toEqual([
    400, 400, 400, 400, 403, 404, 404, 413, 400,
  ])
  expect(await show(id)).toMatchObject({ status: 'available', size: 1 })
  expect((await admin.delete(`${VOLUMES}/${id}`)).status).toBe(202)
  await untilGone(id)
})

test('lists show the own project in pages, filtered and in order; administrators see all', async () => {
  const ids: string[] = []
  for (const name of ['one', 'two', 'three'])
    ids.push((await available({ name, metadata: { group: 'listed' } })).id)
  const list = async (query: string, who = demo) =>
    ((await who.get(`${VOLUMES}${query}`)).body['volumes'] as VolumeBody[]).map(({ name }) => name)

  const mine = `/detail?metadata={'group':'listed'}`
  expect(await list(mine)).toEqual(['three', 'two', 'one'])
  expect(await list(`${mine}&sort=name:asc&limit=2`)).toEqual(['one', 'three'])
  expect(await list(`${mine}&sort=display_name:asc&limit=2`)).toEqual(['one', 'three'])
  expect(await list(`${mine}&sort=name:asc&marker=${ids[2]}`)).toEqual(['two'])
  expect(await list('?name=two')).toEqual(['two'])
  expect(await list(`${mine}&size=2`)).toEqual([])
  expect(await list(`${mine}&size=1&name=two`)).toEqual(['two'])
  expect(await list('?name=two', admin)).toEqual([])
  expect(await list('?name=two&all_tenants=true', admin)).toEqual(['two'])
  expect(await list(`${mine}&encrypted=False&name=two`)).toEqual(['two'])
  expect(await list(`${mine}&encrypted=True`)).toEqual([])
  await listByHost(ids[0]!, list)
  const counted = await demo.get(
    `${mine.replace('/detail', `${VOLUMES}/detail`)}&with_count=true`,
    {
      version: '3.45',
    },
  )
  expect(counted.body['count']).toBe(3)
  for (const id of ids) await demo.delete(`${VOLUMES}/${id}`)
  for (const id of ids) await untilGone(id)
})

/** Administrators list the volumes of a cell, and of one store of it; it is nothing to others. */
async function listByHost(id: string, list: (query: string, who?: ApiClient) => Promise<unknown>) {
  const host = String((await show(id, admin))?.['os-vol-host-attr:host'])
  const [cell] = host.split('@')
  const of = (each: string, who = admin) =>
    list(`?name=one&all_tenants=1&host=${encodeURIComponent(each)}`, who)
  expect([await of(host), await of(cell!)]).toEqual([['one'], ['one']])
  expect([await of(`${cell}@mars`), await of('mars'), await of('')]).toEqual([[], [], []])
  expect(await of('mars', demo)).toEqual(['one'])
}

test('metadata is read and changed as a whole and by key', async () => {
  const { id } = await available({ metadata: { a: '1' } })
  const path = `${VOLUMES}/${id}/metadata`

  await demo.post(path, { metadata: { b: '2' } })
  await demo.put(`${path}/c`, { meta: { c: '3' } })
  await demo.delete(`${path}/a`)

  expect((await demo.get(path)).body).toEqual({ metadata: { b: '2', c: '3' } })
  expect((await demo.get(`${path}/a`)).status).toBe(404)
  await demo.put(path, { metadata: {} })
  expect(await show(id)).toMatchObject({ metadata: {} })
  await demo.delete(`${VOLUMES}/${id}`)
  await untilGone(id)
})

test('a type without a name is none, as forms of Horizon ask for it', async () => {
  const volume = await available({ volume_type: '', description: '' })

  expect(volume).toMatchObject({ volume_type: null, description: '' })
  expect((await demo.delete(`${VOLUMES}/${volume.id}`)).status).toBe(202)
  await waitFor(
    'the volume to be gone',
    async () => (await show(volume.id)) === undefined,
    LIMIT_MS,
  )
})

test('Compute passes on what its old clients ask of volumes', async () => {
  const proxied = '/compute/v2.1/os-volumes'
  const asked = { size: '2', display_name: 'old', metadata: { a: 'b' } }

  const created = await demo.post(proxied, { volume: asked })
  const { id } = created.body['volume'] as VolumeBody
  await untilStatus(id, 'available')

  expect((await demo.get(`${proxied}/${id}`)).body['volume']).toMatchObject({
    displayName: 'old',
    size: 2,
    status: 'available',
    attachments: [{}],
    metadata: { a: 'b' },
  })
  expect((await demo.get(`${proxied}/detail`)).body['volumes']).toMatchObject([{ id }])
  expect((await demo.get(proxied, { version: '2.36' })).status).toBe(404)
  expect((await demo.delete(`${proxied}/${id}`)).status).toBe(202)
  await untilGone(id)
})

test('administrators see the stores of cells, and what volumes take of them', async () => {
  const { id } = await available({ size: 7, availability_zone: 'north' })

  await waitFor(
    'the store to count the volume',
    async () => {
      const { body } = await admin.get('/volume/v3/scheduler-stats/get_pools?detail=true')
      const pools = body['pools'] as { readonly name: string; readonly capabilities: object }[]
      expect(pools.map(({ name }) => name)).toEqual(['north@fake', 'south@fake'])
      return JSON.stringify(pools[0]?.capabilities).includes('"allocated_capacity_gb":7')
    },
    LIMIT_MS,
  )
  await demo.delete(`${VOLUMES}/${id}`)
  await untilGone(id)
})

test('a type chooses the store, and a type that no store has leaves the volume in error', async () => {
  const named = (name: string) => ({
    volume_type: { name, extra_specs: { volume_backend_name: name } },
  })
  await admin.post('/volume/v3/types', named('fake'))
  await admin.post('/volume/v3/types', named('gold'))

  const fitting = await available({ volume_type: 'fake' })
  const other = await made({ volume_type: 'gold' })

  expect(fitting).toMatchObject({ volume_type: 'fake' })
  expect(other.body['volume']).toMatchObject({ volume_type: 'gold', status: 'error' })
  const { id } = other.body['volume'] as VolumeBody
  const said = await demo.get(`/volume/v3/messages?resource_uuid=${id}`, { version: '3.5' })
  expect(said.body['messages']).toMatchObject([
    { event_id: 'VOLUME_VOLUME_001_003', request_id: other.headers['x-openstack-request-id'] },
  ])
  expect(await show(id, admin)).toMatchObject({
    'weir:fault': expect.stringContaining('has no store that its type allows'),
  })
  expect((await made({ volume_type: 'silver' })).status).toBe(404)
  for (const each of [id, fitting.id]) {
    await demo.delete(`${VOLUMES}/${each}`)
    await untilGone(each)
  }
})

test('a type that is deleted while a volume of it is created has no volume, or stays', async () => {
  for (let round = 0; round < 10; round += 1) {
    const name = `fleeting-${round}`
    const type = await admin.post('/volume/v3/types', { volume_type: { name } })
    const { id } = type.body['volume_type'] as { readonly id: string }

    const [asked, deleted] = await Promise.all([
      made({ volume_type: name }),
      admin.delete(`/volume/v3/types/${id}`),
    ])

    expect([asked.status, deleted.status]).toBeOneOf([
      [202, 400],
      [404, 202],
    ])
    if (asked.status !== 202) continue
    const volume = await untilStatus((asked.body['volume'] as VolumeBody).id, 'available')
    expect(volume).toMatchObject({ volume_type: name })
    await demo.delete(`${VOLUMES}/${volume.id}`)
    await untilGone(volume.id)
  }
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})

interface Decision {
  readonly level: string
  readonly cell: string | null
  readonly chosen: string | null
  readonly filters: readonly { readonly name: string; readonly refused: number }[]
}

test('operators see why a volume is in its cell and store, and why there is none for it', async () => {
  const PATH = '/federation/v1/volumes'
  const trace = async (volume: string) => {
    const { body } = await admin.get<{
      cell: string | null
      store: string | null
      decisions: Decision[]
    }>(`${PATH}/${volume}/trace`)
    return body
  }
  const { id, availability_zone: zone } = await available({ name: 'explained' })
  const lost = await made({ availability_zone: zone, volume_type: await typeOf('no-such-store') })
  const without = (lost.body['volume'] as VolumeBody).id

  const seen = await trace('explained')
  expect(seen).toMatchObject({ volume_id: id, store: 'fake', status: 'available' })
  expect(seen.decisions).toMatchObject([
    { level: 'cells', cell: null, chosen: seen.cell },
    { level: 'stores', cell: seen.cell, chosen: 'fake' },
  ])
  const none = await trace(without)
  expect(none).toMatchObject({ cell: null, store: null, status: 'error' })
  expect(none.decisions).toMatchObject([
    { level: 'cells', chosen: null, emptied_by: 'CapabilitiesFilter' },
  ])
  expect((await demo.get(`${PATH}/${id}/trace`)).status).toBe(403)
  expect((await admin.get(`${PATH}/nowhere/trace`)).status).toBe(404)
  for (const each of [id, without]) await demo.delete(`${VOLUMES}/${each}`)
})

/** The name of a type whose volumes may be in a store of this name alone. */
async function typeOf(backend: string): Promise<string> {
  const name = `type-${newId()}`
  const extra_specs = { volume_backend_name: backend }
  await admin.post('/volume/v3/types', { volume_type: { name, extra_specs } })
  return name
}
