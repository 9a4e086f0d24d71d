import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleHost } from '#test/env/sample-host.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let host: HostView

beforeAll(async () => {
  api = await computeApi('services', ['west', 'east'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  host = sampleHost('west-1')
  await api.gateway.db.transaction(async (tx) => {
    await applyHostViews(tx, api.cells[0]!.id, [host, sampleHost('twin')])
    await applyHostViews(tx, api.cells[1]!.id, [sampleHost('twin')])
  })
  // The cell carries out the request, and answers with the state of the host.
  api.cells[0]!.overrides['host.set-service'] = (ask) => {
    host = { ...host, version: host.version + 1, ...ask }
    return host
  }
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface ServiceList {
  readonly services: readonly Readonly<Record<string, unknown>>[]
}
const services = async (query = '', version: Microversion = '2.1') =>
  (await admin.call<ServiceList>('listServices', { query, version })).body.services
const service = async (version: Microversion = '2.53') =>
  (await services('?host=west-1', version))[0]!
const byName = (operation: string, body: object, version: Microversion = '2.1') =>
  admin.call(operation, { body, version })
const update = (body: object, client = admin, service_id = host.hostId) =>
  client.call('updateService', { params: { service_id }, body, version: '2.53' })
const onHost = { host: 'west-1', binary: 'nova-compute' }

test('services are listed by host and binary, with numbers or UUIDs for ids', async () => {
  expect(await services('?binary=nova-compute')).toHaveLength(3)
  expect(await services('?binary=nova-consoleauth')).toEqual([])
  expect(await service('2.1')).toEqual({
    id: expect.any(Number),
    binary: 'nova-compute',
    host: 'west-1',
    zone: 'nova',
    status: 'enabled',
    state: 'up',
    updated_at: '2026-11-21T07:30:00.000000',
    disabled_reason: null,
  })
  expect(await service('2.11')).toHaveProperty('forced_down', false)
  expect(await service('2.53')).toHaveProperty('id', host.hostId)
  expect((await alice.call('listServices')).status).toBe(403)
})

test('a cell has a conductor and a scheduler in the zone internal, which cannot be changed', async () => {
  const own = await services('?host=west', '2.53')
  expect(own).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      binary: 'nova-conductor',
      host: 'west',
      zone: 'internal',
      status: 'enabled',
      state: 'up',
      updated_at: expect.any(String),
      disabled_reason: null,
      forced_down: false,
    },
    expect.objectContaining({ binary: 'nova-scheduler' }),
  ])
  const numbers = (await services()).map(({ id }) => id)
  expect(new Set(numbers).size).toBe(7)
  const id = String(own[0]!['id'])
  expect((await update({ status: 'disabled' }, admin, id)).status).toBe(400)
  const gone = await admin.call('deleteService', { params: { service_id: id }, version: '2.53' })
  expect(gone.status).toBe(400)
  const zones = await admin.call<Zones>('listAvailabilityZonesDetail')
  expect(zones.body.availabilityZoneInfo[0]).toEqual({
    zoneName: 'internal',
    zoneState: { available: true },
    hosts: {
      east: expect.objectContaining({ 'nova-scheduler': expect.any(Object) }),
      west: {
        'nova-conductor': { active: true, available: true, updated_at: expect.any(String) },
        'nova-scheduler': { active: true, available: true, updated_at: expect.any(String) },
      },
    },
  })
  const seen = await alice.call<Zones>('listAvailabilityZones')
  expect(seen.body.availabilityZoneInfo.map(({ zoneName }) => zoneName)).toEqual(['nova'])
})

interface Zones {
  readonly availabilityZoneInfo: readonly { readonly zoneName: string }[]
}

test('a service is disabled with a reason and enabled again by its cell', async () => {
  const reason = { ...onHost, disabled_reason: 'new fan' }
  const disabled = await byName('disableServiceWithReason', reason)
  expect(disabled.body['service']).toMatchObject({ status: 'disabled', disabled_reason: 'new fan' })
  expect(await service()).toMatchObject({ status: 'disabled', disabled_reason: 'new fan' })

  expect((await byName('enableService', onHost)).body['service']).toMatchObject({
    status: 'enabled',
  })
  expect(await service()).toMatchObject({ status: 'enabled', disabled_reason: null })
  expect((await byName('disableService', onHost, '2.53')).status).toBe(400)
})

test('a service is changed by its id from 2.53 on', async () => {
  const changed = await update({ status: 'disabled', disabled_reason: 'x', forced_down: true })
  expect(changed.body['service']).toMatchObject({
    status: 'disabled',
    forced_down: true,
    state: 'down',
  })
  expect((await update({ status: 'enabled', forced_down: false })).body['service']).toMatchObject({
    status: 'enabled',
    state: 'up',
    disabled_reason: null,
  })
  expect((await update({})).status).toBe(400)
  expect((await update({ status: 'enabled', disabled_reason: 'x' })).status).toBe(400)
  expect((await update({ status: 'enabled' }, admin, api.cells[0]!.id)).status).toBe(404)
  expect((await update({ status: 'enabled' }, alice)).status).toBe(403)
})

test('a service is forced down from 2.11 on', async () => {
  const body = { ...onHost, forced_down: true }
  expect((await byName('forceServiceDown', body, '2.10')).status).toBe(400)
  expect((await byName('forceServiceDown', body, '2.11')).body['service']).toEqual(body)
  expect(await service()).toMatchObject({ state: 'down', forced_down: true })
  await update({ forced_down: false })
})

test('an unknown service, or an ambiguous name, is refused', async () => {
  expect((await byName('enableService', { ...onHost, host: 'none' })).status).toBe(404)
  expect((await byName('enableService', { ...onHost, binary: 'nova-conductor' })).status).toBe(404)
  expect((await byName('enableService', { ...onHost, host: 'twin' })).status).toBe(400)
})

test('a service is forgotten unless its host has servers, and leaves its aggregates', async () => {
  const forget = (service_id: string, version: Microversion = '2.53', client = admin) =>
    client.call('deleteService', { params: { service_id }, version })
  const aggregate = { name: 'racks', availability_zone: null }
  const made = await admin.call<{ aggregate: { id: number } }>('createAggregate', {
    body: { aggregate },
  })
  const params = { aggregate_id: String(made.body.aggregate.id) }
  api.cells[0]!.overrides['host.set-aggregates'] = () => host
  await admin.call('addAggregateHost', { params, body: { add_host: { host: 'west-1' } } })
  api.cells[0]!.overrides['host.forget'] = () => {
    throw new Failure('conflict', 'Unable to delete compute service that is hosting instances.')
  }
  const refused = await forget(host.hostId)
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { conflictingRequest: { message: /hosting instances/ } },
  ])
  expect((await forget(host.hostId, '2.53', alice)).status).toBe(403)
  expect((await forget('7', '2.53')).status).toBe(400)
  expect((await forget('seven', '2.52')).status).toBe(400)
  expect((await forget('777777', '2.52')).status).toBe(404)
  expect((await forget(api.cells[0]!.id)).status).toBe(404)
  const serial = String((await service('2.1'))['id'])

  const there = host
  api.cells[0]!.overrides['host.forget'] = () => {
    return { ...there, version: there.version + 1, isDeleted: true }
  }
  expect((await forget(serial, '2.52')).status).toBe(204)

  expect(await services('?host=west-1')).toEqual([])
  expect((await forget(host.hostId)).status).toBe(404)
  const shown = await admin.call<{ aggregate: object }>('showAggregate', { params })
  expect(shown.body.aggregate).toHaveProperty('hosts', [])
  host = { ...host, version: host.version + 2 }
  await api.gateway.db.transaction((tx) => applyHostViews(tx, api.cells[0]!.id, [host]))
  expect(await services('?host=west-1')).toHaveLength(1)
})

test('the services of an unreachable cell are listed as down, and cannot be changed for now', async () => {
  await api.cells[0]!.vanish()
  await waitFor(
    'the cell to be unreachable',
    () => api.gateway.compute.cells.cell(api.cells[0]!.id)?.isReachable === false,
    10_000,
  )

  expect(await service()).toMatchObject({ state: 'down', status: 'enabled' })
  const refused = await update({ status: 'disabled' })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)])
})
