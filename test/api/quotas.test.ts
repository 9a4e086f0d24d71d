import { afterAll, beforeAll, expect, test } from 'vitest'
import { chargeQuota } from '#gateway/app/quotas/charge-quota.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

beforeAll(async () => {
  api = await computeApi('quotas')
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'red', 'member')
  await api.gateway.db.transaction((tx) =>
    chargeQuota(tx, alice, { instances: 3, cores: 6, ram: 1536 }),
  )
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface QuotaSet {
  readonly quota_set: Readonly<Record<string, unknown>>
}

const ofAlice = () => ({ project_id: alice.projectId })
const update = (quota_set: object, version: Microversion = '2.1') =>
  admin.call<QuotaSet>('updateQuotaSet', { params: ofAlice(), body: { quota_set }, version })
const show = async (client: ApiClient, version: Microversion = '2.1') =>
  client.call<QuotaSet>('showQuotaSet', { params: ofAlice(), version })

test.each<[Microversion, readonly string[], readonly string[]]>([
  ['2.1', ['fixed_ips', 'injected_files', 'server_groups'], []],
  ['2.36', ['injected_files', 'server_groups'], ['fixed_ips', 'security_groups']],
  ['2.57', ['server_groups'], ['injected_files', 'injected_file_path_bytes']],
])('a quota set has at %s what that version knows', async (version, present, absent) => {
  const { quota_set } = (await show(alice, version)).body

  expect(quota_set).toMatchObject({ id: alice.projectId, instances: 10, cores: 20, ram: 51_200 })
  expect(Object.keys(quota_set)).toEqual(expect.arrayContaining([...present]))
  for (const name of absent) expect(quota_set).not.toHaveProperty(name)
})

test('a limit below the usage is set only by force', async () => {
  expect((await update({ instances: 3, cores: '7' })).body.quota_set).toMatchObject({
    instances: 3,
    cores: 7,
    ram: 51_200,
  })
  expect((await update({ instances: 2 })).body).toEqual({
    badRequest: {
      code: 400,
      message:
        'Quota limit 2 for instances must be greater than or equal to already used and reserved 3.',
    },
  })
  expect((await update({ instances: 2, force: true })).status).toBe(200)
  expect((await update({ instances: -1 })).body.quota_set).toMatchObject({ instances: -1 })
  expect((await show(alice)).body.quota_set).toMatchObject({ instances: -1, cores: 7 })

  expect((await admin.call('deleteQuotaSet', { params: ofAlice() })).status).toBe(202)
  expect((await show(alice)).body.quota_set).toMatchObject({ instances: 10, cores: 20 })
})

test("a user's limits are part of the project's, and are shown, changed and forgotten apart", async () => {
  const params = ofAlice()
  const query = `?user_id=${alice.userId}`
  const set = async (quota_set: object, of = query) =>
    admin.call<QuotaSet>('updateQuotaSet', { params, query: of, body: { quota_set } })
  const refusal = (message: string) => ({ badRequest: { code: 400, message } })

  expect((await set({ instances: 6 })).body.quota_set).toMatchObject({ instances: 6, cores: 20 })
  expect((await set({ instances: 5 }, `?user_id=${bob.userId}`)).body).toEqual(
    refusal('Quota limit 5 for instances must be less than or equal to 4.'),
  )
  expect((await set({ instances: 5 }, '')).body).toEqual(
    refusal(
      'Quota limit 5 for instances must be greater than or equal to already used and reserved 6.',
    ),
  )
  expect((await set({ instances: 11, force: 'true' })).status).toBe(200)
  const own = await alice.call<QuotaSet>('showQuotaSetDetail', { params, query })
  expect(own.body.quota_set).toMatchObject({ instances: { limit: 11, in_use: 0, reserved: 0 } })
  expect((await show(alice)).body.quota_set).toMatchObject({ instances: 10 })

  expect((await admin.call('deleteQuotaSet', { params, query })).status).toBe(202)
  const after = await alice.call<QuotaSet>('showQuotaSet', { params, query })
  expect(after.body.quota_set).toMatchObject({ instances: 10 })
})

test('detail shows the usage of each limit', async () => {
  const detail = await alice.call<QuotaSet>('showQuotaSetDetail', { params: ofAlice() })

  expect(detail.body.quota_set).toMatchObject({
    instances: { limit: 10, in_use: 3, reserved: 0 },
    ram: { limit: 51_200, in_use: 1_536, reserved: 0 },
    server_groups: { limit: 10, in_use: 0, reserved: 0 },
  })
})

test('limits show the same, and those of another project to administrators only', async () => {
  const limits = async (client: ApiClient, query = '', version: Microversion = '2.1') =>
    client.call<{ limits: { absolute: object } }>('showLimits', { query, version })
  const query = `?tenant_id=${alice.projectId}`

  expect((await limits(alice)).body.limits.absolute).toMatchObject({
    maxTotalInstances: 10,
    totalInstancesUsed: 3,
    totalCoresUsed: 6,
    totalRAMUsed: 1_536,
    maxImageMeta: 128,
  })
  expect((await limits(bob)).body.limits.absolute).toMatchObject({ totalInstancesUsed: 0 })
  expect((await limits(bob, query)).status).toBe(403)
  expect((await limits(admin, query)).body.limits.absolute).toMatchObject({ totalCoresUsed: 6 })
  for (const version of ['2.36', '2.39', '2.57', '2.93'] as const)
    expect((await limits(alice, '', version)).status).toBe(200)
})

test('a class set changes the limits of every project without limits of its own', async () => {
  const params = { quota_class: 'default' }
  const body = { quota_class_set: { server_groups: 4, key_pairs: 5 } }
  expect((await admin.call('updateQuotaClassSet', { params, body, version: '2.50' })).status).toBe(
    200,
  )

  const defaults = await alice.call<QuotaSet>('showQuotaSetDefaults', { params: ofAlice() })
  expect(defaults.body.quota_set).toMatchObject({ server_groups: 4, key_pairs: 5, instances: 10 })
  expect((await show(alice)).body.quota_set).toMatchObject({ server_groups: 4 })
  expect((await alice.call('showQuotaClassSet', { params })).status).toBe(403)
  expect((await admin.call('showQuotaClassSet', { params, version: '2.57' })).status).toBe(200)
})

test("a project's quota is not another project's business", async () => {
  for (const operation of ['showQuotaSet', 'showQuotaSetDetail'])
    expect((await bob.call(operation, { params: ofAlice() })).status).toBe(403)
  expect(
    (await alice.call('updateQuotaSet', { params: ofAlice(), body: { quota_set: {} } })).status,
  ).toBe(403)
})

test.each([{ instances: -2 }, { instances: 'many' }, { colours: 3 }, { instances: 2 ** 31 }])(
  'a quota such as %j is refused',
  async (quota_set) => {
    expect((await update(quota_set)).status).toBe(400)
  },
)

test('a project that does not exist has no quota to set', async () => {
  const params = { project_id: 'f'.repeat(32) }
  const body = { quota_set: { instances: 1 } }
  expect((await admin.call('updateQuotaSet', { params, body })).status).toBe(400)
  expect((await admin.call('showQuotaSetDefaults', { params })).status).toBe(400)
  // Nova does not check the project when a request only resets its limits.
  expect((await admin.call('deleteQuotaSet', { params })).status).toBe(202)
})

test('a class whose name is too long is refused', async () => {
  const params = { quota_class: 'c'.repeat(256) }
  const body = { quota_class_set: { cores: 1 } }
  expect((await admin.call('updateQuotaClassSet', { params, body })).status).toBe(400)
})
