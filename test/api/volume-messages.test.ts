import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import {
  addFailureMessage,
  type FailedWork,
  type VolumeFailure,
} from '#gateway/app/volumes/messages.ts'
import { listOf, textOf } from './json.ts'
import { faultOf, type VolumeApi, volumeApi } from './volume-api.ts'

// Goal: a user learns why work failed after it was accepted, and what is not offered at all.

let api: VolumeApi

beforeAll(async () => {
  api = await volumeApi()
})
afterAll(() => api?.[Symbol.asyncDispose]())

const add = (failure: VolumeFailure = 'placing', fields: Partial<FailedWork> = {}) =>
  addFailureMessage(api.http.gateway.db, failure, {
    projectId: api.projects.demo,
    requestId: 'req-1',
    resourceId: newId(),
    ...fields,
  })
const ask = (path: string, version: '3.3' | '3.5' = '3.5') =>
  api.demo('GET', path, undefined, version)
const ids = async (query: string, version?: '3.3') => {
  const { body } = await ask(`messages?${query}`, version)
  return listOf(body['messages']).map((message) => message['id'])
}

test('a message is listed, shown and deleted by its project', async () => {
  const message = await add()
  const path = `messages/${message.id}`

  const shown = {
    id: message.id,
    event_id: 'VOLUME_VOLUME_001_003',
    user_message: 'No cell has a store that can take the volume. Administrators see the reason.',
    message_level: 'ERROR',
    request_id: 'req-1',
    resource_type: 'VOLUME',
    resource_uuid: message.resourceId,
  }
  expect((await ask(path)).body['message']).toMatchObject(shown)
  expect((await ask(path)).body['message']).toMatchObject({
    links: [
      { rel: 'self', href: `http://cloud.test:8774/volume/v3/${path}` },
      { rel: 'bookmark', href: `http://cloud.test:8774/volume/${path}` },
    ],
  })
  expect((await ask('messages')).body['messages']).toMatchObject([shown])
  expect((await api.demo('DELETE', path, undefined, '3.3')).status).toBe(204)
  expect(faultOf(await ask(path))).toEqual([
    'itemNotFound',
    404,
    `Message ${message.id} could not be found.`,
  ])
})

test('the list is sorted, filtered and paged since 3.5', async () => {
  const a = await add()
  const b = await add('creating-snapshot')
  const c = await add('extending', { requestId: 'req-2' })

  expect(await ids('sort=event_id:asc')).toEqual([a.id, c.id, b.id])
  expect(await ids('sort_key=event_id&sort_dir=desc&limit=2')).toEqual([b.id, c.id])
  expect(await ids(`sort=event_id:asc&marker=${a.id}`)).toEqual([c.id, b.id])
  expect(await ids('sort=event_id:asc&limit=1&offset=1')).toEqual([c.id])
  expect(await ids('resource_type=VOLUME_SNAPSHOT')).toEqual([b.id])
  expect(await ids('resource_type=volume_snapshot')).toEqual([b.id])
  expect(await ids('request_id=req-2&message_level=ERROR')).toEqual([c.id])
  expect(await ids(`resource_uuid=${a.resourceId}`)).toEqual([a.id])
  expect(await ids('event_id=none')).toEqual([])
  expect(await ids('resource_type=VOLUME_SNAPSHOT', '3.3')).toHaveLength(3)
  const { body } = await ask('messages?limit=1')
  expect(textOf(listOf(body['messages_links'])[0]?.['href'])).toContain('marker=')
})

test('another project sees no message, and nobody before 3.3', async () => {
  const foreign = await add('placing', { projectId: api.projects.admin })
  const path = `messages/${foreign.id}`

  expect(await ids('')).not.toContain(foreign.id)
  expect(faultOf(await ask(path)).slice(0, 2)).toEqual(['itemNotFound', 404])
  expect((await api.demo('DELETE', path, undefined, '3.3')).status).toBe(404)
  expect((await api.admin('GET', path, undefined, '3.3')).status).toBe(200)
  expect((await api.demo('GET', 'messages')).status).toBe(404)
})

test.each([
  ['backups', 'backups', '3.0'],
  ['backups/detail', 'backups', '3.0'],
  ['groups', 'groups', '3.13'],
  ['groups/detail', 'groups', '3.13'],
  ['group_snapshots', 'group_snapshots', '3.14'],
  ['group_types', 'group_types', '3.11'],
  ['consistencygroups/detail', 'consistencygroups', '3.0'],
  ['cgsnapshots', 'cgsnapshots', '3.0'],
] as const)('the list of %s is empty', async (path, key, version) => {
  expect((await api.demo('GET', path, undefined, version)).body).toEqual({ [key]: [] })
})

test.each([
  ['backups', 'Backup', '3.0', ['serviceUnavailable', 503]],
  ['groups', 'Group', '3.13', ['notImplemented', 501]],
  ['group_snapshots', 'GroupSnapshot', '3.14', ['notImplemented', 501]],
  ['group_types', 'Group type', '3.11', ['notImplemented', 501]],
  ['consistencygroups', 'ConsistencyGroup', '3.0', ['notImplemented', 501]],
  ['cgsnapshots', 'CgSnapshot', '3.0', ['notImplemented', 501]],
  ['qos-specs', 'QoS spec', '3.0', ['notImplemented', 501]],
] as const)(
  'there is nothing among %s, and nothing can be added',
  async (path, what, version, refusal) => {
    const id = newId()
    const missing = ['itemNotFound', 404, `${what} ${id} could not be found.`]

    expect(faultOf(await api.admin('GET', `${path}/${id}`, undefined, version))).toEqual(missing)
    expect(faultOf(await api.admin('DELETE', `${path}/${id}`, undefined, version))).toEqual(missing)
    const created = await api.admin('POST', path, { any: {} }, version)
    expect(faultOf(created).slice(0, 2)).toEqual(refusal)
  },
)

test('operators see no stores, and services of cells only', async () => {
  expect((await api.admin('GET', 'qos-specs')).body).toEqual({ qos_specs: [] })
  expect((await api.admin('GET', 'scheduler-stats/get_pools?detail=true')).body).toEqual({
    pools: [],
  })
  expect((await api.admin('GET', 'os-services')).body).toEqual({ services: [] })
  expect(faultOf(await api.admin('GET', 'capabilities/host'))).toEqual([
    'itemNotFound',
    404,
    "Can't find service: host",
  ])
  for (const path of ['os-services', 'scheduler-stats/get_pools', 'capabilities/host', 'qos-specs'])
    expect(faultOf(await api.demo('GET', path)).slice(0, 2)).toEqual(['forbidden', 403])
})

test.each(['clusters', 'clusters/detail'])(
  '%s is empty for administrators since 3.7, with the filters of that time',
  async (path) => {
    const asked = async (query: string, version: '3.6' | '3.7' | '3.26' = '3.7') => {
      const { status, body } = await api.admin('GET', `${path}${query}`, undefined, version)
      return status === 200 ? body : status
    }

    expect(await asked('')).toEqual({ clusters: [] })
    expect(await asked('?name=any&binary=cinder-volume&is_up=True&disabled=False')).toEqual({
      clusters: [],
    })
    expect(await asked('?replication_status=enabled', '3.26')).toEqual({ clusters: [] })
    for (const query of ['?any=1', '?is_up=maybe', '?replication_status=enabled'])
      expect(await asked(query)).toBe(400)
    expect(await asked('', '3.6')).toBe(404)
    const refused = await api.demo('GET', path, undefined, '3.7')
    expect(faultOf(refused).slice(0, 2)).toEqual(['forbidden', 403])
  },
)

test('there is no cluster to show or to change', async () => {
  const missing = ['itemNotFound', 404, 'Cluster any could not be found.']
  const change = (who: 'admin' | 'demo', body: object) =>
    api[who]('PUT', 'clusters/disable', body, '3.7')

  expect(faultOf(await api.admin('GET', 'clusters/any', undefined, '3.7'))).toEqual(missing)
  const named = { name: 'any', disabled_reason: 'any' }
  expect(faultOf(await change('admin', named))).toEqual(missing)
  expect(faultOf(await change('admin', {})).slice(0, 2)).toEqual(['badRequest', 400])
  for (const answer of [
    await api.demo('GET', 'clusters/any', undefined, '3.7'),
    await change('demo', named),
  ])
    expect(faultOf(answer).slice(0, 2)).toEqual(['forbidden', 403])
})

test.each(['backups', 'backups/detail'])(
  '%s has the number of backups since 3.45',
  async (path) => {
    const counted = await api.demo('GET', `${path}?with_count=True&limit=20`, undefined, '3.45')
    expect(counted.body).toEqual({ backups: [], count: 0 })
    expect((await api.demo('GET', path, undefined, '3.45')).body).toEqual({ backups: [] })
    const old = await api.demo('GET', `${path}?with_count=True`, undefined, '3.44')
    expect(old.body).toEqual({ backups: [] })
  },
)
