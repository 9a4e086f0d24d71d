import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, SERVERS, untilStatus } from '#test/env/api/servers.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume gets the content of an image, and what it is told of it, or stays as it was and says why.

const LIMIT_MS = 30_000
const GIB = 2 ** 30

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let image: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
  image = await uploaded('plain')
})
afterEach(() => {
  for (const host of cloud.hosts) host.fail()
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const show = (id: string) => showStored(admin, 'volume', id)
const untilAvailable = (id: string) => untilStored(admin, 'volume', id, 'available')
const made = (fields: object = {}) => makeStored(demo, 'volume', { size: 1, ...fields })
const removed = (id: string) => removeStored(demo, 'volume', id)

async function queued(name: string, more: object = {}, owner = demo): Promise<string> {
  const draft = { name, disk_format: 'raw', container_format: 'bare', ...more }
  return (await owner.post<{ id: string }>('/image/v2/images', draft)).body.id
}

async function uploaded(name: string, more: object = {}, content = Buffer.alloc(512)) {
  const id = await queued(name, { hypervisor_type: 'fake', ...more })
  await demo.call('PUT', `/image/v2/images/${id}/file`, undefined, {
    raw: content,
    headers: { 'content-type': 'application/octet-stream' },
  })
  return id
}

async function reimage(
  id: string,
  body: object | null = { image_id: image },
  { client = demo, version = '3.68' as '3.67' | '3.68' } = {},
): Promise<string> {
  const path = `${ROOT}/volumes/${id}/action`
  const { status, body: told } = await client.post(path, { 'os-reimage': body }, { version })
  if (status === 202) return '202'
  return `${status} ${(Object.values(told)[0] as { readonly message: string }).message}`
}

test('a volume gets the content of an image, again and again, and says of which', async () => {
  const id = await made()
  const other = await uploaded('other', { os_distro: 'debian', min_ram: 64 })

  expect(await reimage(id)).toBe('202')
  await untilAvailable(id)
  expect(await show(id)).toMatchObject({
    ...{ size: 1, bootable: 'true', 'weir:fault': null },
    volume_image_metadata: { image_id: image, image_name: 'plain', disk_format: 'raw' },
  })
  expect(await reimage(id, { image_id: other, reimage_reserved: true })).toBe('202')
  await untilAvailable(id)

  const metadata = { image_id: other, image_name: 'other', os_distro: 'debian', min_ram: '64' }
  expect((await show(id))?.['volume_image_metadata']).toMatchObject(metadata)
  await removed(id)
})

test('a request that cannot be met changes nothing', async () => {
  const id = await made()
  const absent = crypto.randomUUID()
  const drafted = await queued('drafted')
  const foreign = await queued('foreign', { visibility: 'private' }, admin)
  const demanding = await uploaded('demanding', { min_disk: 5 })
  const theirs = await makeStored(admin, 'volume', { size: 1 })
  const before = await show(id)

  expect(await reimage(id, undefined, { version: '3.67' })).toMatch(/^404 /)
  for (const body of [null, {}, { image_id: 'x' }, { image_id: image, more: 1 }])
    expect(await reimage(id, body)).toMatch(/^400 /)
  expect(await reimage(id, { image_id: image, reimage_reserved: 'maybe' })).toMatch(/^400 /)
  expect(await reimage(absent)).toMatch(/^404 Volume .* could not be found/)
  expect(await reimage(theirs)).toMatch(/^404 Volume .* could not be found/)
  for (const each of [absent, foreign])
    expect(await reimage(id, { image_id: each })).toMatch(/^404 .*image/i)
  expect(await reimage(id, { image_id: drafted })).toMatch(/^400 .*is not active/)
  expect(await reimage(id, { image_id: demanding })).toMatch(
    /^400 .*smaller than the image minDisk/,
  )

  expect(await show(id)).toEqual(before)
  await removed(id)
  await removeStored(admin, 'volume', theirs)
})

test('an image whose disk is larger than the volume is refused', async () => {
  const id = await made()
  const header = Buffer.alloc(512)
  header.write('QFI\xfb', 'latin1')
  header.writeUInt32BE(3, 4)
  header.writeUInt32BE(16, 20)
  header.writeBigUInt64BE(BigInt(3 * GIB), 24)
  header.writeUInt32BE(104, 100)
  const large = await uploaded('large', { disk_format: 'qcow2' }, header)

  expect(await reimage(id, { image_id: large })).toMatch(/^400 .*larger than volume size 1GB/)

  expect(await show(id)).toMatchObject({ status: 'available' })
  await removed(id)
})

test('a volume that is used, offered or at work gets no other content', async () => {
  const id = await made()
  const { body } = await demo.post(`${ROOT}/volume-transfers`, { transfer: { volume_id: id } })
  expect(await reimage(id)).toMatch(/^400 Invalid volume: .*available.* is awaiting-transfer\.$/)
  await demo.delete(`${ROOT}/volume-transfers/${(body['transfer'] as { id: string }).id}`)
  const server = await createServer(cloud, demo, { imageRef: image })
  await untilStatus(demo, server, 'ACTIVE')
  const attachments = `${SERVERS}/${server}/os-volume_attachments`
  await demo.post<Loose>(attachments, { volumeAttachment: { volumeId: id } })
  await untilStored(demo, 'volume', id, 'in-use')

  expect(await reimage(id)).toMatch(/^400 Invalid volume: .*available.* is in-use\.$/)

  await demo.delete(`${SERVERS}/${server}`)
  await untilAvailable(id)
  for (const host of cloud.hosts) host.fail({ method: 'reimageVolume', effect: { do: 'hang' } })
  expect(await reimage(id)).toBe('202')
  expect(await reimage(id)).toMatch(/^400 Invalid volume: .*available.* is downloading\.$/)
  for (const host of cloud.hosts) host.fail()
  await untilAvailable(id)
  await removed(id)
})

test('a volume whose host fails says why to the administrator, and that it failed to its user', async () => {
  const id = await made()
  const effect = { do: 'fail', kind: 'conflict', message: 'in use' } as const
  for (const host of cloud.hosts) host.fail({ method: 'reimageVolume', effect })

  expect(await reimage(id)).toBe('202')

  await waitFor('a fault', async () => (await show(id))?.['weir:fault'] !== null, LIMIT_MS)
  expect(await show(id)).toMatchObject({ status: 'available', bootable: 'false' })
  expect((await show(id))?.['volume_image_metadata']).toBeUndefined()
  const { body } = await demo.get<{ messages: Loose[] }>(`${ROOT}/messages?resource_uuid=${id}`, {
    version: '3.68',
  })
  expect(body.messages).toMatchObject([{ event_id: 'VOLUME_VOLUME_016_028' }])
  for (const host of cloud.hosts) host.fail()
  expect(await reimage(id)).toBe('202')
  await waitFor('no fault', async () => (await show(id))?.['weir:fault'] === null, LIMIT_MS)
  await untilAvailable(id)
  await removed(id)
})
