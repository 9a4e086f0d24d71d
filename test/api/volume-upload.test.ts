import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume becomes an image, also while a server uses it; and what fails leaves the volume as it was and no image.

interface Body {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}

const ROOT = '/volume/v3'
const IMAGES = '/image/v2/images'
const LIMIT_MS = 30_000

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
})
afterEach(async () => {
  for (const host of cloud.hosts) host.fail()
  for (const image of await images()) {
    await demo.call('PATCH', `${IMAGES}/${image.id}`, [
      { op: 'replace', path: '/protected', value: false },
    ])
    await demo.delete(`${IMAGES}/${image.id}`)
  }
  for (const { id } of await volumes()) await demo.delete(`${ROOT}/volumes/${id}`)
  await waitFor('no volume', async () => (await volumes()).length === 0, LIMIT_MS)
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const volumes = async () =>
  (await demo.get(`${ROOT}/volumes/detail`)).body['volumes'] as readonly Body[]
/** Those of the project itself. */
const images = async () =>
  (await demo.get<{ images: readonly Body[] }>(`${IMAGES}?visibility=private`)).body.images
const show = async (id: string) => (await demo.get(`${ROOT}/volumes/${id}`)).body['volume'] as Body

const untilVolume = (id: string, status: string) =>
  waitFor(`${id} to be ${status}`, async () => (await show(id)).status === status, LIMIT_MS)

async function volume(fields: object = {}): Promise<string> {
  const { body } = await demo.post(`${ROOT}/volumes`, { volume: { size: 2, ...fields } })
  const { id } = body['volume'] as Body
  await untilVolume(id, 'available')
  return id
}

const upload = (id: string, fields: object = {}) =>
  demo.post(
    `${ROOT}/volumes/${id}/action`,
    { 'os-volume_upload_image': { image_name: 'golden', ...fields } },
    { version: '3.1' },
  )

test('it becomes an image with the properties of its own image, from which a volume can be made', async () => {
  const id = await volume({ imageRef: cloud.catalog.image })

  const asked = await upload(id, { disk_format: 'raw', protected: true })

  expect(asked.status).toBe(202)
  const shown = asked.body['os-volume_upload_image'] as Body
  expect(shown).toMatchObject({
    ...{ id, status: 'uploading', size: 2, image_name: 'golden', disk_format: 'raw' },
    ...{ container_format: 'bare', visibility: 'private', protected: true },
  })
  await untilVolume(id, 'available')
  const [image] = await images()
  expect(image).toMatchObject({
    ...{ id: shown['image_id'], name: 'golden', status: 'active', disk_format: 'raw' },
    ...{ min_disk: 2, protected: true, hypervisor_type: 'fake' },
  })
  await volume({ imageRef: image!.id, size: 2 })
})

test('it is uploaded while a server uses it if that is asked for, and in use afterwards', async () => {
  const id = await volume({ availability_zone: 'north' })
  const server = await activeServer(cloud, demo, { availability_zone: 'north' })
  const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  await untilVolume(id, 'in-use')

  const refused = await upload(id)
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain('current status is: in-use')
  expect((await upload(id, { force: true })).status).toBe(202)

  await untilVolume(id, 'in-use')
  expect(await images()).toMatchObject([{ status: 'active' }])
  await demo.delete(`${attachments}/${id}`)
  await untilVolume(id, 'available')
  await deleteServer(demo, server.id)
})

test('what its host cannot read leaves the volume as it was, with the reason, and no image', async () => {
  const id = await volume()
  const effect = { do: 'fail', kind: 'conflict', message: 'unreadable' } as const
  for (const host of cloud.hosts) host.fail({ method: 'exportVolume', effect })

  expect((await upload(id)).status).toBe(202)

  await untilVolume(id, 'available')
  await waitFor('no image', async () => (await images()).length === 0, LIMIT_MS)
  const { body } = await admin.get(`${ROOT}/volumes/${id}`)
  expect((body['volume'] as Body)['weir:fault']).toBe('unreadable')
})

test('while it is uploaded it is neither deleted nor extended nor uploaded again nor reset', async () => {
  const id = await volume()
  for (const host of cloud.hosts) host.fail({ method: 'exportVolume', effect: { do: 'hang' } })
  expect((await upload(id)).status).toBe(202)
  expect((await show(id)).status).toBe('uploading')

  expect((await demo.delete(`${ROOT}/volumes/${id}`)).status).toBe(400)
  expect((await upload(id)).status).toBe(400)
  const larger = { 'os-extend': { new_size: 3 } }
  expect((await demo.post(`${ROOT}/volumes/${id}/action`, larger)).status).toBe(400)
  const reset = { 'os-reset_status': { status: 'available' } }
  expect((await admin.post(`${ROOT}/volumes/${id}/action`, reset)).status).toBe(409)
  expect(await images()).toMatchObject([{ status: 'queued', name: 'golden' }])

  const forced = { 'os-force_delete': {} }
  expect((await admin.post(`${ROOT}/volumes/${id}/action`, forced)).status).toBe(202)
  await waitFor('no volume', async () => (await volumes()).length === 0, LIMIT_MS)
  await waitFor('no image', async () => (await images()).length === 0, LIMIT_MS)
})

test.each([
  ['an absent volume', 404, {}, () => newId<string>()],
  ['a format that is not made', 400, { disk_format: 'vmdk' }, undefined],
  ['a container', 400, { container_format: 'ova' }, undefined],
  ['a public image of a member', 403, { visibility: 'public' }, undefined],
] as const)('%s is refused', async (_, status, fields, idOf) => {
  const id = idOf?.() ?? (await volume())

  expect((await upload(id, fields)).status).toBe(status)

  expect(await images()).toEqual([])
})
