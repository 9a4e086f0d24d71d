import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  showStored,
  type VolumeKind,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume goes to the project that has the key, once, with what belongs to it in the quotas of both, or stays as it was.

const TRANSFERS = `${ROOT}/volume-transfers`
const GIB = 2

let cloud: Cloud
let demo: ApiClient
let stranger: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  stranger = cloud.as('stranger')
  admin = cloud.as('admin')
  await storesReported(cloud)
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const statusOf = async (kind: VolumeKind, id: string, client = demo) =>
  (await showStored(client, kind, id))?.status ?? 404
const volume = () => makeStored(demo, 'volume', { size: GIB })
const snapshotOf = (volumeId: string) => makeStored(demo, 'snapshot', { volume_id: volumeId })
const removed = (client: ApiClient, id: string, kind: VolumeKind = 'volume') =>
  removeStored(client, kind, id)

interface Offer {
  readonly id: string
  readonly auth_key: string
}

async function offer(volumeId: string, fields: object = {}): Promise<Offer> {
  const transfer = { volume_id: volumeId, ...fields }
  const { status, body } = await demo.post(TRANSFERS, { transfer }, { version: '3.55' })
  expect(status).toBe(202)
  return body['transfer'] as unknown as Offer
}

const accept = ({ id, auth_key }: Offer, client = stranger, root = TRANSFERS) =>
  client.post(`${root}/${id}/accept`, { accept: { auth_key } })

async function usageOf(client: ApiClient, project: 'demo' | 'elsewhere') {
  const path = `${ROOT}/os-quota-sets/${await cloud.projectId(project)}?usage=true`
  const { body } = await client.get<{ quota_set: Readonly<Record<string, { in_use: number }>> }>(
    path,
  )
  const { volumes, snapshots, gigabytes } = body.quota_set
  return [volumes?.in_use, snapshots?.in_use, gigabytes?.in_use]
}

const messageOf = (body: object) => (Object.values(body)[0] as { readonly message: string }).message

test('a volume goes with its snapshots to the project that has the key, in the quotas as well', async () => {
  const id = await volume()
  const kept = await snapshotOf(id)

  const given = await offer(id, { name: 'present' })
  expect(await statusOf('volume', id)).toBe('awaiting-transfer')
  expect((await stranger.get(`${TRANSFERS}/${given.id}`)).status).toBe(404)
  expect((await accept({ ...given, auth_key: 'guessed' })).status).toBe(400)
  const refused = await demo.post(`${ROOT}/snapshots`, { snapshot: { volume_id: id } })
  expect(refused.status).toBe(400)
  const { status, body } = await accept(given)

  expect([status, body['transfer']]).toMatchObject([
    202,
    { id: given.id, volume_id: id, name: 'present' },
  ])
  expect([await statusOf('volume', id), await statusOf('snapshot', kept)]).toEqual([404, 404])
  const own = [await statusOf('volume', id, stranger), await statusOf('snapshot', kept, stranger)]
  expect(own).toEqual(['available', 'available'])
  expect(await usageOf(demo, 'demo')).toEqual([0, 0, 0])
  expect(await usageOf(stranger, 'elsewhere')).toEqual([1, 1, 2 * GIB])
  expect((await accept(given)).status).toBe(404)
  await removed(stranger, kept, 'snapshot')
  await removed(stranger, id)
  expect(await usageOf(stranger, 'elsewhere')).toEqual([0, 0, 0])
})

test('snapshots stay where they are to, and keep their volume from being deleted', async () => {
  const id = await volume()
  const kept = await snapshotOf(id)

  expect((await accept(await offer(id, { no_snapshots: true }))).status).toBe(202)

  expect(await usageOf(demo, 'demo')).toEqual([0, 1, GIB])
  expect(await usageOf(stranger, 'elsewhere')).toEqual([1, 0, GIB])
  for (const path of [`volumes/${id}`, `volumes/${id}?cascade=true`]) {
    const { status, body } = await stranger.delete(`${ROOT}/${path}`)
    expect([status, messageOf(body)]).toEqual([400, expect.stringContaining('disassociated')])
  }
  expect(await statusOf('snapshot', kept)).toBe('available')
  await removed(demo, kept, 'snapshot')
  await removed(stranger, id)
})

test('an offer that is withdrawn leaves the volume as it was, and its key opens nothing', async () => {
  const id = await volume()
  const given = await offer(id)
  const listed = await demo.get(TRANSFERS)
  expect(listed.body['transfers']).toMatchObject([{ id: given.id, volume_id: id }])
  expect((await stranger.get(TRANSFERS)).body).toEqual({ transfers: [] })
  const all = await admin.get(`${TRANSFERS}/detail?all_tenants=true`, { version: '3.57' })
  const source_project_id = await cloud.projectId('demo')
  expect(all.body['transfers']).toMatchObject([{ id: given.id, source_project_id }])

  expect((await stranger.delete(`${TRANSFERS}/${given.id}`)).status).toBe(404)
  expect((await demo.delete(`${TRANSFERS}/${given.id}`)).status).toBe(202)

  expect(await statusOf('volume', id)).toBe('available')
  expect((await accept(given)).status).toBe(404)
  const again = await offer(id)
  expect((await accept({ ...again, auth_key: given.auth_key })).status).toBe(400)
  await demo.delete(`${TRANSFERS}/${again.id}`)
  await removed(demo, id)
})

test('of several that accept at once one gets the volume', async () => {
  const id = await volume()
  const given = await offer(id)

  const answers = await Promise.all([accept(given), accept(given, admin), accept(given, demo)])

  const statuses = answers.map(({ status }) => status)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([202, 404, 404])
  await removed(admin, id)
})

test('a project without room for a volume does not get it', async () => {
  const quota = `${ROOT}/os-quota-sets/${await cloud.projectId('elsewhere')}`
  const id = await volume()
  const given = await offer(id)
  await admin.put(quota, { quota_set: { gigabytes: GIB - 1 } })

  expect((await accept(given)).status).toBe(413)
  expect(await statusOf('volume', id)).toBe('awaiting-transfer')
  expect(await usageOf(stranger, 'elsewhere')).toEqual([0, 0, 0])
  await admin.put(quota, { quota_set: { gigabytes: GIB, per_volume_gigabytes: 1 } })
  expect((await accept(given)).status).toBe(413)
  await admin.delete(quota)

  expect((await accept(given)).status).toBe(202)
  await removed(stranger, id)
})

test('what cannot be offered is refused, and an offer ends with its volume', async () => {
  const id = await volume()
  const missing = { transfer: { volume_id: crypto.randomUUID() } }
  expect((await demo.post(TRANSFERS, missing)).status).toBe(404)
  expect((await stranger.post(TRANSFERS, { transfer: { volume_id: id } })).status).toBe(404)
  const given = await offer(id)
  const again = await demo.post(TRANSFERS, { transfer: { volume_id: id } })
  expect([again.status, messageOf(again.body)]).toEqual([
    400,
    expect.stringContaining('must be available'),
  ])

  const reset = { 'os-reset_status': { status: 'error' } }
  await admin.post(`${ROOT}/volumes/${id}/action`, reset)
  const late = await accept(given)
  expect([late.status, messageOf(late.body)]).toEqual([
    400,
    expect.stringContaining('Ask its project for another transfer'),
  ])
  await removed(demo, id)
  expect((await demo.get(`${TRANSFERS}/${given.id}`)).status).toBe(404)
})

test('clients from before 3.55 find the same elsewhere', async () => {
  const old = `${ROOT}/os-volume-transfer`
  const id = await volume()
  const { status, body } = await demo.post(old, { transfer: { volume_id: id, name: null } })
  expect(status).toBe(202)
  const given = body['transfer'] as unknown as Offer
  expect(Object.keys(given).toSorted()).toEqual([
    ...['auth_key', 'created_at', 'id', 'links', 'name', 'volume_id'],
  ])

  expect((await demo.get(`${old}/${given.id}`)).status).toBe(200)
  expect((await accept(given, stranger, old)).status).toBe(202)

  await removed(stranger, id)
})
