import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  chargeVolumes,
  refundVolumes,
  refuseLargeVolume,
  type VolumeAmounts,
} from '#gateway/app/volumes/quotas.ts'
import { textOf } from './json.ts'
import { faultOf, type VolumeApi, volumeApi } from './volume-api.ts'

// Goal: a project uses no more volumes than it may, in all and of each type, and its usage is exact.

let api: VolumeApi
let typeId: string

beforeAll(async () => {
  api = await volumeApi()
  const { body } = await api.admin('POST', 'types', { volume_type: { name: 'fast' } })
  typeId = textOf(body['volume_type']?.['id'])
})
afterAll(() => api?.[Symbol.asyncDispose]())

const own = () => `os-quota-sets/${api.projects.demo}`
const set = (limits: object) => api.admin('PUT', own(), { quota_set: limits })
const owner = () => ({ projectId: api.projects.demo, typeId })
const charge = (amounts: VolumeAmounts, of = owner()) =>
  api.http.gateway.db.transaction((tx) => chargeVolumes(tx, of, amounts))
const refund = (amounts: VolumeAmounts) =>
  api.http.gateway.db.transaction(async (tx) => refundVolumes(tx, owner(), amounts))
const usage = async () => (await api.demo('GET', `${own()}?usage=True`)).body['quota_set']!
const used = (in_use: number, limit: number) => ({ limit, in_use, reserved: 0 })

const DEFAULTS = {
  volumes: 10,
  snapshots: 10,
  gigabytes: 1_000,
  per_volume_gigabytes: -1,
  backups: 10,
  backup_gigabytes: 1_000,
  groups: 10,
  gigabytes_fast: -1,
  snapshots_fast: -1,
  volumes_fast: -1,
}

beforeEach(async () => {
  await api.admin('DELETE', own())
  await refund({ volumes: 1_000, gigabytes: 10_000, snapshots: 1_000 })
})

test('a project has the built-in limits, those of the class default, or its own', async () => {
  const { demo } = api.projects
  expect((await api.demo('GET', own())).body).toEqual({ quota_set: { id: demo, ...DEFAULTS } })

  const quota_class_set = { volumes: 20, volumes_fast: 5 }
  const classes = 'os-quota-class-sets/default'
  const changed = await api.admin('PUT', classes, { quota_class_set })
  expect(changed.body).toEqual({ quota_class_set: { ...DEFAULTS, ...quota_class_set } })
  expect((await api.admin('GET', classes)).body).toEqual({
    quota_class_set: { id: 'default', ...DEFAULTS, ...quota_class_set },
  })
  expect((await api.demo('GET', own())).body['quota_set']).toMatchObject(quota_class_set)

  const limits = { volumes: 30, gigabytes_fast: 7, tenant_id: demo }
  expect((await set(limits)).body['quota_set']).toMatchObject({
    volumes: 30,
    volumes_fast: 5,
    gigabytes_fast: 7,
  })
  expect((await api.demo('GET', `${own()}/defaults`)).body['quota_set']).toMatchObject({
    volumes: 20,
    gigabytes_fast: -1,
  })
  expect((await api.admin('DELETE', own())).status).toBe(200)
  expect((await api.demo('GET', own())).body['quota_set']).toMatchObject(quota_class_set)
  await api.admin('PUT', classes, { quota_class_set: { volumes: 10, volumes_fast: -1 } })
})

test('usage is counted in all and by type, and given back', async () => {
  await charge({ volumes: 1, gigabytes: 3 })
  await charge({ snapshots: 1, gigabytes: 3 })
  await charge({ volumes: 1, gigabytes: 1 }, { projectId: api.projects.demo, typeId: '' })
  expect(await usage()).toMatchObject({
    volumes: used(2, 10),
    gigabytes: used(7, 1_000),
    snapshots: used(1, 10),
    volumes_fast: used(1, -1),
    gigabytes_fast: used(6, -1),
    snapshots_fast: used(1, -1),
    backups: used(0, 10),
  })
  expect((await api.demo('GET', 'limits')).body['limits']).toEqual({
    rate: [],
    absolute: {
      maxTotalVolumes: 10,
      maxTotalSnapshots: 10,
      maxTotalVolumeGigabytes: 1_000,
      maxTotalBackups: 10,
      maxTotalBackupGigabytes: 1_000,
      totalVolumesUsed: 2,
      totalSnapshotsUsed: 1,
      totalGigabytesUsed: 7,
      totalBackupsUsed: 0,
      totalBackupGigabytesUsed: 0,
    },
  })

  await refund({ volumes: 1, gigabytes: 3 })
  expect(await usage()).toMatchObject({ volumes: used(1, 10), volumes_fast: used(0, -1) })
})

test.each([
  [
    { gigabytes: 5 },
    { volumes: 1, gigabytes: 6 },
    'VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested 6G, quota is 5G and 0G has been consumed.',
  ],
  [
    { volumes: 0 },
    { volumes: 1, gigabytes: 1 },
    "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota 'volumes'.",
  ],
  [
    { volumes_fast: 0 },
    { volumes: 1, gigabytes: 1 },
    "VolumeLimitExceeded: Maximum number of volumes allowed (0) exceeded for quota 'volumes of its type'.",
  ],
  [
    { snapshots: 0 },
    { snapshots: 1 },
    "SnapshotLimitExceeded: Maximum number of snapshots allowed (0) exceeded for quota 'snapshots'.",
  ],
])('above the limit %j nothing is counted', async (limits, amounts, message) => {
  await set(limits)

  await expect(charge(amounts)).rejects.toMatchObject({ kind: 'over-quota', message })
  expect(await usage()).toMatchObject({ volumes: { in_use: 0 }, gigabytes: { in_use: 0 } })
})

test('concurrent charges never pass the limit', async () => {
  await set({ volumes: 3 })

  const charges = Array.from({ length: 8 }, () => charge({ volumes: 1, gigabytes: 1 }))
  const outcomes = await Promise.allSettled(charges)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(await usage()).toMatchObject({ volumes: used(3, 3), gigabytes: { in_use: 3 } })
})

test('one volume may be limited in its size', async () => {
  const { db } = api.http.gateway
  await set({ per_volume_gigabytes: 5 })

  await refuseLargeVolume(db, api.projects.demo, 5)
  await expect(refuseLargeVolume(db, api.projects.demo, 6)).rejects.toMatchObject({
    kind: 'over-quota',
    message:
      'VolumeSizeExceedsLimit: Requested volume size 6G is larger than maximum allowed limit 5G.',
  })
})

test('a limit goes down to the amount used, and not below', async () => {
  await charge({ volumes: 2, gigabytes: 2 })

  expect((await set({ volumes: 2, gigabytes: 5 })).status).toBe(200)
  expect(faultOf(await set({ gigabytes: 9, volumes: 1 }))).toEqual([
    'badRequest',
    400,
    'Quota volumes limit must be equal or greater than existing resources. Current usage is 2 and the requested limit is 1.',
  ])
  expect(await usage()).toMatchObject({ volumes: used(2, 2), gigabytes: used(2, 5) })
  expect((await set({ volumes: -1 })).status).toBe(200)
})

test.each([
  [{ volumes: -2 }, 'volumes'],
  [{ volumes: 2_147_483_648 }, 'volumes'],
  [{ volumes: 'many' }, 'volumes'],
  [{ instances: 5 }, 'Bad key(s) in quota set: instances.'],
  [{ volumes_slow: 5 }, 'Bad key(s) in quota set: volumes_slow.'],
  [{}, 'quota_set'],
])('the limits %j are refused', async (limits, message) => {
  const reply = await set(limits)

  expect(faultOf(reply).slice(0, 2)).toEqual(['badRequest', 400])
  expect(faultOf(reply)[2]).toContain(message)
})

test('a renamed type keeps its limits and its usage, and a private one is hidden', async () => {
  await set({ volumes_fast: 4 })
  await charge({ volumes: 1, gigabytes: 1 })
  const rename = (volume_type: object) => api.admin('PUT', `types/${typeId}`, { volume_type })

  await rename({ name: 'quick' })
  expect(await usage()).toMatchObject({ volumes_quick: used(1, 4) })
  expect(await usage()).not.toHaveProperty('volumes_fast')
  await rename({ name: 'fast', is_public: false })
  expect(await usage()).not.toHaveProperty('volumes_fast')
  await rename({ is_public: true })
})

test('only administrators see and set the limits of others', async () => {
  const foreign = `os-quota-sets/${api.projects.admin}`
  const quota_set = { volumes: 1 }

  expect(faultOf(await api.demo('GET', foreign)).slice(0, 2)).toEqual(['forbidden', 403])
  expect(faultOf(await api.demo('PUT', own(), { quota_set })).slice(0, 2)).toEqual([
    'forbidden',
    403,
  ])
  const nobody = `os-quota-sets/${'f'.repeat(32)}`
  expect(faultOf(await api.admin('PUT', nobody, { quota_set })).slice(0, 2)).toEqual([
    'badRequest',
    400,
  ])

  await set({ volumes: 7 })
  const query = `limits?project_id=${api.projects.demo}`
  const asked = async (as: 'admin' | 'demo', version: '3.38' | '3.39', path = query) =>
    (await api[as]('GET', path, undefined, version)).body['limits']?.['absolute']
  expect(await asked('admin', '3.39')).toMatchObject({ maxTotalVolumes: 7 })
  expect(await asked('admin', '3.38')).toMatchObject({ maxTotalVolumes: 10 })
  const other = `limits?project_id=${api.projects.admin}`
  expect(await asked('demo', '3.39', other)).toMatchObject({ maxTotalVolumes: 7 })
})
