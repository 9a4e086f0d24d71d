import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { makeStored, removeStored, showStored, untilStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a server that starts from a volume is rebuilt and rescued as in Nova; whatever fails, its volume is neither lost nor
// left to anything else half written, and a repeat ends it.

const LIMIT_MS = 30_000
const GIB = 2 ** 30
const DEVICE = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let imageRef: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  imageRef = cloud.catalog.image
  await storesReported(cloud)
})
afterEach(() => {
  for (const host of cloud.hosts) host.fail()
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const show = async (id: string) => (await showStored(admin, 'volume', id))!
const untilVolume = (id: string, status: string) => untilStored(demo, 'volume', id, status)

/** A server that starts from a new volume of an image. */
async function rooted(): Promise<{ readonly id: string; readonly root: string }> {
  const root = await makeStored(demo, 'volume', { size: 1, imageRef })
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef: _own, ...rest } = server
  const disk = { source_type: 'volume', destination_type: 'volume', uuid: root, boot_index: 0 }
  const body = { server: { ...rest, block_device_mapping_v2: [disk] } }
  const made = await demo.post<{ server: { id: string } }>(SERVERS, body)
  const { id } = made.body.server
  await untilStatus(demo, id, 'ACTIVE')
  await untilVolume(root, 'in-use')
  return { id, root }
}

async function removed({ id, root }: { readonly id: string; readonly root: string }) {
  await deleteServer(demo, id)
  await untilVolume(root, 'available')
  await removeStored(demo, 'volume', root)
}

async function newImage(more: object = {}, bytes = 1): Promise<string> {
  const draft = { disk_format: 'raw', container_format: 'bare', hypervisor_type: 'fake', ...more }
  const { body } = await demo.post<{ id: string }>('/image/v2/images', draft)
  await demo.call('PUT', `/image/v2/images/${body.id}/file`, undefined, {
    raw: Buffer.alloc(bytes),
    headers: { 'content-type': 'application/octet-stream' },
  })
  return body.id
}

/** What an act is answered: its status, and what was wrong. */
async function answer(id: string, action: object, version: Microversion): Promise<string> {
  const { status, body } = await act(demo, id, action, { version })
  const fault = status < 400 ? undefined : Object.values(body)[0]
  return `${status} ${(fault as { readonly message: string } | undefined)?.message ?? ''}`.trim()
}

const rebuild = (id: string, image: string, version: Microversion, more: object = {}) =>
  answer(id, { rebuild: { imageRef: image, ...more } }, version)

async function consoleOf(id: string): Promise<string> {
  return String((await act(demo, id, { 'os-getConsoleOutput': {} })).body['output'])
}

test('below 2.93 a rebuild takes the image that the volume has, and leaves the volume as it is', async () => {
  const { id, root } = await rooted()
  const before = await show(root)
  const other = await newImage({ name: 'other' })

  expect(await rebuild(id, other, '2.92')).toBe(
    `400 Image ${other} is unacceptable: Unable to rebuild with a different image for a volume-backed server.`,
  )
  expect(await rebuild(id, imageRef, '2.92', { name: 'renamed' })).toBe('202')

  await untilStatus(demo, id, 'ACTIVE')
  expect(await showServer(demo, id)).toMatchObject({ image: '', name: 'renamed' })
  expect(await consoleOf(id)).toContain('from its volume')
  const { status, volume_image_metadata, attachments } = await show(root)
  expect({ status, volume_image_metadata, attachments }).toEqual({
    status: 'in-use',
    volume_image_metadata: before['volume_image_metadata'],
    attachments: before['attachments'],
  })
  await removed({ id, root })
})

test('since 2.93 a rebuild gives the volume the content of the image, and it stays the same volume', async () => {
  const { id, root } = await rooted()
  const before = await show(root)
  const other = await newImage({ name: 'other', os_distro: 'debian' })
  for (const host of cloud.hosts)
    host.fail({ method: 'rebuild', times: 1, effect: { do: 'slow', ms: 2_000 } })

  expect(await rebuild(id, other, '2.93')).toBe('202')

  await untilVolume(root, 'downloading')
  const path = `/volume/v3/volumes/${root}`
  const extend = { 'os-extend': { new_size: 2 } }
  const refused = [
    await demo.post(`${path}/action`, extend, { version: '3.42' }),
    await demo.post('/volume/v3/snapshots', { snapshot: { volume_id: root, force: true } }),
    await demo.delete(path),
    await admin.post(`${path}/action`, { 'os-reset_status': { status: 'available' } }),
  ]
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 409])
  expect(await rebuild(id, imageRef, '2.93')).toMatch(/^409 .*rebuilding/)
  await untilVolume(root, 'in-use')
  await untilStatus(demo, id, 'ACTIVE')

  expect(await showServer(demo, id)).toMatchObject({ image: '' })
  expect(await consoleOf(id)).toContain('from image other')
  const after = await show(root)
  expect(after).toMatchObject({
    ...{ size: before['size'], bootable: 'true', 'weir:fault': null },
    ...{ attachments: before['attachments'] },
    volume_image_metadata: { image_id: other, image_name: 'other', os_distro: 'debian' },
  })
  // The image is the volume's now.
  expect(await rebuild(id, other, '2.92')).toBe('202')
  await untilStatus(demo, id, 'ACTIVE')
  await removed({ id, root })
})

test('a rebuild that fails leaves the volume to the server, says why, and is ended by the next', async () => {
  const { id, root } = await rooted()
  const { volume_image_metadata: former } = await show(root)
  const other = await newImage({ name: 'other' })
  const effect = { do: 'fail', kind: 'conflict', message: 'broken' } as const
  for (const host of cloud.hosts) host.fail({ method: 'rebuild', effect })

  expect(await rebuild(id, other, '2.93')).toBe('202')
  await untilStatus(demo, id, 'ERROR')
  await untilVolume(root, 'in-use')
  expect(await show(root)).toMatchObject({
    'weir:fault': 'broken',
    volume_image_metadata: former,
  })

  for (const host of cloud.hosts) host.fail()
  expect(await rebuild(id, other, '2.93')).toBe('202')
  await untilStatus(demo, id, 'ACTIVE')
  await untilVolume(root, 'in-use')
  expect(await show(root)).toMatchObject({
    'weir:fault': null,
    volume_image_metadata: { image_id: other },
  })
  await removed({ id, root })
})

test('a server that is deleted during its rebuild leaves its volume free', async () => {
  const { id, root } = await rooted()
  const { volume_image_metadata: former } = await show(root)
  const other = await newImage({ name: 'other' })
  for (const host of cloud.hosts) host.fail({ method: 'rebuild', effect: { do: 'hang' } })

  expect(await rebuild(id, other, '2.93')).toBe('202')
  await untilVolume(root, 'downloading')
  await deleteServer(demo, id)

  await untilVolume(root, 'available')
  expect(await show(root)).toMatchObject({
    'weir:fault': 'Its server was deleted meanwhile.',
    volume_image_metadata: former,
  })
  await removeStored(demo, 'volume', root)
})

test('an image that the volume cannot have is refused, and nothing has happened', async () => {
  const { id, root } = await rooted()
  const snapshots = await newImage({
    block_device_mapping: JSON.stringify([{ snapshot_id: root, source_type: 'snapshot' }]),
  })
  const large = await newImage({ min_disk: 2 })
  const refusals: readonly (readonly [string, object, string])[] = [
    [crypto.randomUUID(), {}, '400 Can not find requested image'],
    [
      large,
      {},
      `400 Volume is smaller than the minimum size specified in image metadata. Volume size is ${GIB} bytes, minimum size is ${2 * GIB} bytes.`,
    ],
    [
      snapshots,
      {},
      `400 Image ${snapshots} names snapshots of volumes, and has no content that volume ${root} could get: create a server from it.`,
    ],
    [
      imageRef,
      { trusted_image_certificates: ['a'] },
      '400 Image certificate validation is not supported for volume-backed servers.',
    ],
  ]

  for (const [image, more, expected] of refusals)
    expect(await rebuild(id, image, '2.93', more)).toBe(expected)

  expect(await show(root)).toMatchObject({ status: 'in-use', 'weir:fault': null })
  expect((await showServer(demo, id)).status).toBe('ACTIVE')
  await removed({ id, root })
})

test('a rescue needs 2.87, and an image that names the device of its disk', async () => {
  const { id, root } = await rooted()
  const rescue = (version: Microversion, image?: string) =>
    answer(id, { rescue: image === undefined ? null : { rescue_image_ref: image } }, version)
  const rescuer = await newImage({ name: 'rescuer', ...DEVICE })
  const half = await newImage({ hw_rescue_bus: 'virtio' })
  const not = `400 Instance ${id} cannot be rescued: Cannot rescue a volume-backed instance`

  expect(await rescue('2.86', rescuer)).toBe(not)
  for (const each of [undefined, imageRef, half]) expect(await rescue('2.87', each)).toBe(not)
  expect(await rescue('2.87', crypto.randomUUID())).toMatch(/^400 Requested rescue image/)
  expect(await rescue('2.87', rescuer)).toBe('200')

  await untilSettled(cloud, id)
  expect(await showServer(demo, id)).toMatchObject({ status: 'RESCUE' })
  expect(await show(root)).toMatchObject({ status: 'in-use' })
  expect((await demo.delete(`${SERVERS}/${id}/os-volume_attachments/${root}`)).status).toBe(400)
  expect((await act(demo, id, { unrescue: null })).status).toBe(202)
  await untilSettled(cloud, id)
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  expect(await consoleOf(id)).toMatch(/rescued with image rescuer.*unrescued/s)
  await removed({ id, root })
})

test('without an image it is rescued with that of its volume, if this names a device', async () => {
  const own = await newImage({ name: 'own', ...DEVICE })
  const { id, root } = await rooted()
  expect(await rebuild(id, own, '2.93')).toBe('202')
  await untilStatus(demo, id, 'ACTIVE')
  await untilVolume(root, 'in-use')

  expect(await answer(id, { rescue: null }, '2.87')).toBe('200')

  await untilSettled(cloud, id)
  expect(await consoleOf(id)).toContain('rescued with image own')
  await removed({ id, root })
})

test('a volume that two servers have gets no other content', async () => {
  const type = await admin.post<{ volume_type: { id: string } }>('/volume/v3/types', {
    volume_type: { name: 'shared', extra_specs: { multiattach: '<is> True' } },
  })
  const volume_type = type.body.volume_type.id
  const root = await makeStored(demo, 'volume', { size: 1, imageRef, volume_type })
  const disk = { source_type: 'volume', destination_type: 'volume', uuid: root, boot_index: 0 }
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef: _own, ...rest } = server
  const servers: string[] = []
  for (const own of [rest, server]) {
    const disks = own === rest ? [disk] : []
    const asked = { ...own, ...(disks.length > 0 && { block_device_mapping_v2: disks }) }
    const { body } = await demo.post<{ server: { id: string } }>(
      SERVERS,
      { server: asked },
      { version: '2.60' },
    )
    servers.push(body.server.id)
    await untilStatus(demo, body.server.id, 'ACTIVE')
  }
  const [id, second] = servers as [string, string]
  const attach = { volumeAttachment: { volumeId: root } }
  const path = `${SERVERS}/${second}/os-volume_attachments`
  expect((await demo.post(path, attach, { version: '2.60' })).status).toBe(200)

  expect(await rebuild(id, imageRef, '2.93')).toBe(
    '409 Cannot re-image a volume which is attached to more than one server.',
  )

  expect(await show(root)).toMatchObject({ status: 'in-use' })
  for (const each of servers) await deleteServer(demo, each)
  const isFree = async () => (await show(root))['status'] === 'available'
  await waitFor('the volume to be free', isFree, LIMIT_MS)
  await removeStored(demo, 'volume', root)
})
