import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  type StoredBody,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume gets a type that its store offers, and the quota of each type counts it once.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

async function type(name: string, extra_specs: object, fields: object = {}): Promise<string> {
  const { body } = await admin.post(`${ROOT}/types`, {
    volume_type: { name, extra_specs, ...fields },
  })
  return (body['volume_type'] as StoredBody).id
}

const show = (id: string) => showStored(demo, 'volume', id)
const until = (id: string, wanted: string) => untilStored(demo, 'volume', id, wanted)
const volume = (fields: object = {}) => makeStored(demo, 'volume', { size: 2, ...fields })
const removed = (id: string) => removeStored(demo, 'volume', id)

async function retype(id: string, new_type: string, fields: object = {}): Promise<string> {
  const path = `${ROOT}/volumes/${id}/action`
  const { status, body } = await demo.post(path, { 'os-retype': { new_type, ...fields } })
  if (status === 202) return '202'
  return `${status} ${(Object.values(body)[0] as { readonly message: string }).message}`
}

async function gigabytesBy(...names: readonly string[]): Promise<readonly unknown[]> {
  const path = `${ROOT}/os-quota-sets/${await cloud.projectId('demo')}?usage=true`
  const { body } = await admin.get<{ quota_set: Readonly<Record<string, { in_use: number }>> }>(
    path,
  )
  return ['gigabytes', ...names.map((name) => `gigabytes_${name}`)].map(
    (name) => body.quota_set[name]?.in_use,
  )
}

test('a volume that its store may have gets another type, and the quotas follow', async () => {
  await type('gold', { volume_backend_name: 'fake' })
  const shared = await type('shared', { multiattach: '<is> True' })
  const id = await volume()

  expect(await retype(id, 'gold', { migration_policy: 'never' })).toBe('202')
  expect(await show(id)).toMatchObject({ volume_type: 'gold', multiattach: false })
  expect(await gigabytesBy('gold', 'shared')).toEqual([2, 2, 0])
  expect(await retype(id, shared, { migration_policy: 'on-demand' })).toBe('202')

  expect(await show(id)).toMatchObject({ volume_type: 'shared', multiattach: true })
  expect(await gigabytesBy('gold', 'shared')).toEqual([2, 0, 2])
  await removed(id)
  expect(await gigabytesBy('gold', 'shared')).toEqual([0, 0, 0])
})

test('a volume keeps its type where it cannot have the other one', async () => {
  const hidden = await type('hidden', {}, { 'os-volume-type-access:is_public': false })
  await type('far', { volume_backend_name: 'elsewhere' })
  await type('full', {})
  const quota = `${ROOT}/os-quota-sets/${await cloud.projectId('demo')}`
  await admin.put(quota, { quota_set: { gigabytes_full: 1 } })
  const id = await volume({ volume_type: 'gold' })

  expect(await retype(id, 'gold')).toContain('400 Invalid volume')
  expect(await retype(id, 'far')).toContain('400 Invalid volume: Retype requires migration')
  expect(await retype(id, 'far', { migration_policy: 'on-demand' })).toMatch(
    /^400 .*No store in the zone .* one that the type far allows/,
  )
  expect(await retype(id, 'nothing')).toContain('404 Volume type with name nothing')
  expect(await retype(id, hidden)).toContain(`404 Volume type ${hidden}`)
  expect(await retype(id, 'full')).toContain('413 VolumeSizeExceedsAvailableQuota')
  expect(await retype(crypto.randomUUID(), 'full')).toContain('404 Volume')

  expect(await show(id)).toMatchObject({ volume_type: 'gold' })
  expect(await gigabytesBy('gold', 'full')).toEqual([2, 2, 0])
  await admin.delete(quota)
  await removed(id)
})

test('a volume in use changes its type, but not who may use it', async () => {
  await type('silver', {})
  const { id: server } = await activeServer(cloud, demo)
  const id = await volume({ volume_type: 'gold' })
  const volumeAttachment = { volumeId: id }
  await demo.post(`${SERVERS}/${server}/os-volume_attachments`, { volumeAttachment })
  await until(id, 'in-use')

  expect(await retype(id, 'shared')).toContain('Detach it first')
  expect(await retype(id, 'silver')).toBe('202')

  expect(await show(id)).toMatchObject({ status: 'in-use', volume_type: 'silver' })
  await deleteServer(demo, server)
  await until(id, 'available')
  await removed(id)
})
