import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleHost } from '#test/env/sample-host.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
/** What the cell would show of its hosts. */
const hosts = new Map<string, HostView>()

beforeAll(async () => {
  api = await computeApi('aggregates', ['west', 'east'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  const own = ['west-1', 'west-2'].map((name) => sampleHost(name, { ownZone: 'nova' }))
  for (const view of own) hosts.set(view.hostId, view)
  await api.gateway.db.transaction(async (tx) => {
    await applyHostViews(tx, api.cells[0]!.id, [...own, sampleHost('twin')])
    await applyHostViews(tx, api.cells[1]!.id, [sampleHost('twin')])
  })
  api.cells[0]!.overrides['host.set-aggregates'] = ({ hostId, aggregates }) => {
    const before = hosts.get(hostId)!
    const named = aggregates.map(({ metadata }) => metadata['availability_zone'])
    const zone = named.find((each) => each !== undefined) ?? 'nova'
    const view = { ...before, version: before.version + 1, aggregates, zone }
    hosts.set(hostId, view)
    return view
  }
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface Aggregate {
  readonly id: number
  readonly [field: string]: unknown
}
type One = { readonly aggregate: Aggregate }

const create = (aggregate: object, version: Microversion = '2.1') =>
  admin.call<One>('createAggregate', { body: { aggregate }, version })
const at = (id: number) => ({ aggregate_id: String(id) })
const show = async (id: number) =>
  (await admin.call<One>('showAggregate', { params: at(id) })).body.aggregate
const update = (id: number, aggregate: object) =>
  admin.call<One>('updateAggregate', { params: at(id), body: { aggregate } })
const act = (operation: string, id: number, body: object) =>
  admin.call<One>(operation, { params: at(id), body })
const add = (id: number, host: string) => act('addAggregateHost', id, { add_host: { host } })
const remove = (id: number, host: string) =>
  act('removeAggregateHost', id, { remove_host: { host } })
const setMetadata = (id: number, metadata: object) =>
  act('setAggregateMetadata', id, { set_metadata: { metadata } })
const zones = async () => {
  const { body } = await alice.call<{ availabilityZoneInfo: { zoneName: string }[] }>(
    'listAvailabilityZones',
  )
  return body.availabilityZoneInfo.map(({ zoneName }) => zoneName)
}

test('an aggregate is made, shown, renamed and deleted', async () => {
  const made = (await create({ name: 'plain' })).body.aggregate
  expect(made).toEqual({
    id: expect.any(Number),
    name: 'plain',
    availability_zone: null,
    created_at: expect.any(String),
    updated_at: null,
    deleted: false,
    deleted_at: null,
  })
  expect((await create({ name: 'plain' })).status).toBe(409)
  expect((await create({ name: 'with uuid' }, '2.41')).body.aggregate).toHaveProperty('uuid')
  expect((await create({ name: 'zoned', availability_zone: 'a:b' })).status).toBe(400)

  expect((await update(made.id, { name: 'renamed' })).body.aggregate).toMatchObject({
    name: 'renamed',
    hosts: [],
    metadata: {},
    updated_at: expect.any(String),
  })
  expect((await update(made.id, { name: 'with uuid' })).status).toBe(409)
  expect((await update(made.id, {})).status).toBe(400)
  const params = at(made.id)
  expect((await admin.call('deleteAggregate', { params })).status).toBe(200)
  expect((await admin.call('showAggregate', { params })).status).toBe(404)
  expect((await admin.call('deleteAggregate', { params })).status).toBe(404)
  const odd = { aggregate_id: 'abc' }
  expect((await admin.call('showAggregate', { params: odd })).status).toBe(400)
})

test('metadata is added to, and taken away by null', async () => {
  const { id } = (await create({ name: 'described' })).body.aggregate
  await setMetadata(id, { ssd: 'true', rack: '7' })
  const { body } = await setMetadata(id, { rack: null, gpu: 'false' })
  expect(body.aggregate).toMatchObject({ metadata: { ssd: 'true', gpu: 'false' } })
  expect((await setMetadata(id, { availability_zone: null })).status).toBe(400)
  expect((await setMetadata(999, { ssd: 'true' })).status).toBe(404)
})

test('a host is in the zone of its aggregate, and its cell gets the zone', async () => {
  const { id } = (await create({ name: 'fast', availability_zone: 'fast' })).body.aggregate
  expect((await add(id, 'west-1')).body.aggregate).toMatchObject({
    hosts: ['west-1'],
    availability_zone: 'fast',
    metadata: { availability_zone: 'fast' },
  })
  expect(await zones()).toEqual(['fast', 'nova'])
  expect((await add(id, 'west-1')).status).toBe(409)
  expect((await add(id, 'nobody')).status).toBe(404)
  expect((await add(id, 'twin')).status).toBe(409)
  expect((await remove(id, 'west-2')).status).toBe(404)

  const other = (await create({ name: 'slow', availability_zone: 'slow' })).body.aggregate
  expect((await add(other.id, 'west-1')).status).toBe(409)
  const zoneless = (await create({ name: 'any' })).body.aggregate
  await add(zoneless.id, 'west-1')
  expect((await update(zoneless.id, { availability_zone: 'slow' })).status).toBe(400)
  expect((await admin.call('deleteAggregate', { params: at(id) })).status).toBe(400)

  await update(id, { availability_zone: 'faster' })
  expect(await zones()).toEqual(['faster', 'nova'])
  expect((await remove(id, 'west-1')).body.aggregate).toMatchObject({ hosts: [] })
  expect(await zones()).toEqual(['nova'])
})

test('a cell that was unreachable gets the zone later', async () => {
  const { id } = (await create({ name: 'late', availability_zone: 'late' })).body.aggregate
  const answer = api.cells[0]!.overrides['host.set-aggregates']!
  delete api.cells[0]!.overrides['host.set-aggregates']
  await api.cells[0]!.vanish()
  await waitFor(
    'the cell to be unreachable',
    () => api.gateway.compute.cells.cell(api.cells[0]!.id)?.isReachable === false,
    10_000,
  )
  expect((await add(id, 'west-2')).status).toBe(200)
  expect(await zones()).toEqual(['nova'])

  api.cells[0]!.overrides['host.set-aggregates'] = answer
  api.cells[0]!.appear()
  await waitFor('the zone to be known', async () => (await zones()).includes('late'), 20_000)
  expect(await show(id)).toMatchObject({ hosts: ['west-2'] })
})

test('users see and change no aggregates', async () => {
  expect((await alice.call('listAggregates')).status).toBe(403)
  const body = { aggregate: { name: 'mine' } }
  expect((await alice.call('createAggregate', { body })).status).toBe(403)
  const names = (await admin.call<{ aggregates: Aggregate[] }>('listAggregates')).body.aggregates
  expect(names.map(({ name }) => name)).toContain('late')
})

test('images are asked for ahead from 2.81 on, which no host can take', async () => {
  const { id } = (await create({ name: 'cached' })).body.aggregate
  const image = crypto.randomUUID()
  const ask = (cache: object, version: Microversion = '2.81', client = admin, of = id) =>
    client.call('cacheAggregateImages', { params: at(of), body: { cache }, version })

  expect((await ask([{ id: image }])).status).toBe(202)
  expect((await ask([{ id: image }, { id: image }])).body).toMatchObject({
    badRequest: { message: 'Duplicate images in request' },
  })
  expect((await ask([])).status).toBe(400)
  expect((await ask([{ id: image }], '2.80')).status).toBe(404)
  expect((await ask([{ id: image }], '2.81', admin, 9_999)).status).toBe(404)
  expect((await ask([{ id: image }], '2.81', alice)).status).toBe(403)
})
