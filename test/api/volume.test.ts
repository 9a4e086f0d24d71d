import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { textOf } from './json.ts'
import { faultOf, type VolumeApi, volumeApi } from './volume-api.ts'

// Goal: the Block Storage API is found, versioned and refused as a client of Cinder expects.

let api: VolumeApi

beforeAll(async () => {
  api = await volumeApi()
})
afterAll(() => api?.[Symbol.asyncDispose]())

const VERSION = {
  id: 'v3.0',
  status: 'CURRENT',
  version: '3.71',
  min_version: '3.0',
  'media-types': [
    { base: 'application/json', type: 'application/vnd.openstack.volume+json;version=3' },
  ],
}

test.each([
  ['/volume', 300],
  ['/volume/', 300],
  ['/volume/v3', 200],
  ['/volume/v3/', 200],
])('%s describes the versions to anybody', async (path, status) => {
  const reply = await api.http.ask('GET', path)

  expect(reply.status).toBe(status)
  expect(reply.body['versions']).toMatchObject([VERSION])
  expect(reply.body['versions']).toMatchObject([
    { links: [{ rel: 'describedby' }, { rel: 'self', href: 'http://cloud.test:8774/volume/v3/' }] },
  ])
})

test('the header selects the microversion, 3.0 without it, and every answer names it', async () => {
  const oldest = await api.demo('GET', 'extensions')
  const named = await api.demo('GET', 'extensions', undefined, '3.60')

  expect(oldest.headers.get('openstack-api-version')).toBe('volume 3.0')
  expect(named.headers.get('openstack-api-version')).toBe('volume 3.60')
  expect(named.headers.get('vary')).toBe('OpenStack-API-Version')
})

test('a microversion outside the range is not acceptable, and one of another service is not meant', async () => {
  for (const version of ['2.0', '3.72', '4.0'] as const) {
    const reply = await api.demo('GET', 'extensions', undefined, version)
    expect(faultOf(reply).slice(0, 2)).toEqual(['computeFault', 406])
  }
  const headers = { 'openstack-api-version': 'compute 2.90' }
  const token = api.tokens.demo
  const other = await api.http.ask('GET', '/volume/v3/extensions', { token, headers })
  expect(other.headers.get('openstack-api-version')).toBe('volume 3.0')
})

test('the project may stand in the path, if it is the one of the token', async () => {
  const own = await api.demo('GET', `${api.projects.demo}/extensions`)
  const foreign = await api.demo('GET', `${api.projects.admin}/extensions`)

  expect(own.status).toBe(200)
  expect(own.body).toEqual((await api.demo('GET', 'extensions')).body)
  expect(faultOf(foreign).slice(0, 2)).toEqual(['badRequest', 400])
})

test('without a token, and where nothing is, the answer has the envelope of Cinder', async () => {
  const nobody = await api.http.ask('GET', '/volume/v3/extensions')
  const nothing = await api.demo('GET', 'nothing')

  expect(nobody.status).toBe(401)
  expect(faultOf(nothing).slice(0, 2)).toEqual(['itemNotFound', 404])
})

test('an extension is listed, and found by its alias', async () => {
  const { body } = await api.demo('GET', 'extensions')
  const shown = await api.demo('GET', 'extensions/os-availability-zone')

  expect(body['extensions']).toContainEqual(shown.body['extension'])
  expect(faultOf(await api.demo('GET', 'extensions/os-none'))).toEqual([
    'itemNotFound',
    404,
    'There is no extension os-none.',
  ])
})

test('the filters of lists are listed since 3.33', async () => {
  const listed = await api.demo('GET', 'resource_filters', undefined, '3.33')
  const one = await api.demo('GET', 'resource_filters?resource=snapshot', undefined, '3.71')

  expect(listed.body['resource_filters']).toContainEqual({
    resource: 'attachment',
    filters: ['volume_id', 'instance_id', 'status'],
  })
  expect(one.body['resource_filters']).toMatchObject([{ resource: 'snapshot' }])
  expect((await api.demo('GET', 'resource_filters')).status).toBe(404)
})

test('zones are those of the hosts', async () => {
  const hosts = [sampleHost('a', { zone: 'left' }), sampleHost('b', { zone: 'right' })]
  await api.http.gateway.db.transaction((tx) => applyHostViews(tx, newId(), hosts))

  // No heartbeat of their cell has come.
  const zones = ['left', 'right'].map((zoneName) => ({ zoneName, zoneState: { available: false } }))
  const { body } = await api.demo('GET', 'os-availability-zone')
  expect(body['availabilityZoneInfo']).toEqual(zones)
})

test.each(['block-storage', 'volumev3'])('an access rule names the service %s', async (service) => {
  const token = api.tokens.demo
  const headers = { 'x-subject-token': token }
  const shown = await api.http.ask('GET', '/v3/auth/tokens', { token, headers })
  const user = textOf(shown.body['token']?.['user']?.['id'])
  const rule = { service, method: 'GET', path: '/v3/extensions' }
  const made = await api.http.ask('POST', `/v3/users/${user}/application_credentials`, {
    token,
    body: { application_credential: { name: service, access_rules: [rule] } },
  })
  const { id, secret } = made.body['application_credential'] ?? {}
  const identity = { methods: ['application_credential'], application_credential: { id, secret } }
  const login = await api.http.ask('POST', '/v3/auth/tokens', { body: { auth: { identity } } })
  const restricted = login.headers.get('x-subject-token') ?? ''

  const ask = (path: string) => api.http.ask('GET', `/volume/v3/${path}`, { token: restricted })
  expect((await ask('extensions')).status).toBe(200)
  expect(faultOf(await ask('types')).slice(0, 2)).toEqual(['forbidden', 403])
})
