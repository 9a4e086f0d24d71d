import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient
let reader: ApiClient

beforeAll(async () => {
  api = await computeApi('server_groups')
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'red', 'member')
  reader = await api.user('rita', 'blue', 'reader')
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface Group {
  readonly id: string
  readonly [field: string]: unknown
}
type One = { readonly server_group: Group }

const create = (server_group: object, version: Microversion = '2.1', client = alice) =>
  client.call<One>('createServerGroup', { body: { server_group }, version })
const show = (id: string, version: Microversion = '2.1', client = alice) =>
  client.call<One>('showServerGroup', { params: { server_group_id: id }, version })
const remove = (id: string, client = alice) =>
  client.call('deleteServerGroup', { params: { server_group_id: id } })
const names = async (query = '', client = alice) => {
  const { body } = await client.call<{ server_groups: Group[] }>('listServerGroups', { query })
  return body.server_groups.map(({ name }) => name)
}

test('a group is made, shown in the words of each microversion, and forgotten', async () => {
  const { body } = await create({ name: 'pair', policies: ['affinity'] })
  const { id } = body.server_group
  const shared = { id, name: 'pair', members: [] }
  const old = { ...shared, policies: ['affinity'], metadata: {} }
  expect(body.server_group).toEqual(old)
  const owner = { project_id: alice.projectId, user_id: alice.userId }
  expect((await show(id, '2.13')).body.server_group).toEqual({ ...old, ...owner })
  const modern = { ...shared, ...owner, policy: 'affinity', rules: {} }
  expect((await show(id, '2.64')).body.server_group).toEqual(modern)

  expect((await show(id, '2.1', bob)).status).toBe(404)
  expect((await remove(id, bob)).status).toBe(404)
  expect((await remove(id, reader)).status).toBe(403)
  expect((await show(id, '2.1', reader)).status).toBe(200)
  expect((await remove(id)).status).toBe(204)
  expect((await remove(id)).status).toBe(404)
  expect((await show('a name')).status).toBe(404)
})

test('policies and rules are those of the microversion', async () => {
  const soft = { name: 'soft', policies: ['soft-anti-affinity'] }
  expect((await create(soft, '2.14')).status).toBe(400)
  expect((await create(soft, '2.15')).status).toBe(200)
  expect((await create({ name: 'x', policies: ['affinity', 'anti-affinity'] })).status).toBe(400)
  expect((await create({ name: 'x', policies: [] })).status).toBe(400)
  expect((await create({ name: 'x', policies: ['legacy'] })).status).toBe(400)
  expect((await create({ name: 'x', policy: 'affinity' }, '2.63')).status).toBe(400)
  expect((await create({ name: 'x', policies: ['affinity'] }, '2.64')).status).toBe(400)
  const rules = { max_server_per_host: 3 }
  const apart = await create({ name: 'apart', policy: 'anti-affinity', rules }, '2.64')
  expect(apart.body.server_group).toMatchObject({ policy: 'anti-affinity', rules })
  const odd = { name: 'x', policy: 'affinity', rules }
  expect((await create(odd, '2.64')).status).toBe(400)
  expect((await create({ name: 'x', policies: ['affinity'] }, '2.1', reader)).status).toBe(403)
})

test('a list is the project’s own and paged by offset; administrators may see all', async () => {
  await create({ name: 'theirs', policies: ['affinity'] }, '2.1', bob)
  expect(await names()).toEqual(['soft', 'apart'])
  expect(await names('?limit=1&offset=1')).toEqual(['apart'])
  expect(await names('?all_projects=1')).toEqual(['soft', 'apart'])
  expect(await names('?all_projects', admin)).toEqual(['soft', 'apart', 'theirs'])
  expect(await names('', admin)).toEqual([])
  const strict = { query: '?colour=red', version: '2.75' } as const
  expect((await alice.call('listServerGroups', strict)).status).toBe(400)
})

test('a project has no more groups than its quota', async () => {
  const params = { project_id: bob.projectId! }
  const body = { quota_set: { server_groups: 2 } }
  await admin.call('updateQuotaSet', { params, body })

  const second = await create({ name: 'second', policies: ['affinity'] }, '2.1', bob)
  const third = await create({ name: 'third', policies: ['affinity'] }, '2.1', bob)
  expect(third.status).toBe(403)
  expect(third.body).toEqual({
    forbidden: { code: 403, message: 'Quota exceeded, too many server groups.' },
  })
  await remove(second.body.server_group.id, bob)
  expect((await create({ name: 'third', policies: ['affinity'] }, '2.1', bob)).status).toBe(200)
})
