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
  // The cell does what it is asked, and says what the host is like then.
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
  expect(await services()).toHaveLength(3)
  expect(await services('?binary=nova-conductor')).toEqual([])
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

test('a service is disabled with a reason and enabled again by its cell', async () => {
  const reason = { ...onHost, disabled_reason: 'new fan' }
  const disabled = await byName('disableServiceWithReason', reason)
  expect(disabled.body['service']).toMatchObject({ status: 'disabled', disabled_reason: 'new fan' })
  expect(await service()).toMatchObject({ status: 'disabled', disabled_reason: 'new fan' })

  expect((await byName('enableService', onHost)).body['service']).toMatchObject({
    status: 'enabled',
  })
  expect(await service()).toMatchObject({ status: 'enabled', disabled_reason: null })
  expect((await byName('disableService', onHost, '2.53')).status).toBe(404)
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
  expect((await byName('forceServiceDown', body, '2.10')).status).toBe(404)
  expect((await byName('forceServiceDown', body, '2.11')).body['service']).toEqual(body)
  expect(await service()).toMatchObject({ state: 'down', forced_down: true })
  await update({ forced_down: false })
})

test('a service that is not there, or is there twice, is refused', async () => {
  expect((await byName('enableService', { ...onHost, host: 'none' })).status).toBe(404)
  expect((await byName('enableService', { ...onHost, binary: 'nova-conductor' })).status).toBe(404)
  expect((await byName('enableService', { ...onHost, host: 'twin' })).status).toBe(400)
  const params = { service_id: host.hostId }
  expect((await admin.call('deleteService', { params, version: '2.53' })).status).toBe(409)
})

test('the services of a silent cell are listed as down, and cannot be changed for now', async () => {
  await api.cells[0]!.vanish()
  await waitFor(
    'the cell to be dark',
    () => api.gateway.compute.cells.cell(api.cells[0]!.id)?.isAlive === false,
    10_000,
  )

  expect(await service()).toMatchObject({ state: 'down', status: 'enabled' })
  const refused = await update({ status: 'disabled' })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.any(String)])
})
