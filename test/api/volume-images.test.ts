import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume is made from an image, as Cinder allows it, and lives on without that.

interface VolumeBody {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}

const VOLUMES = '/volume/v3/volumes'
const LIMIT_MS = 30_000
const BYTES = 4_096

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  await storesReported(cloud)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const made = (volume: object) => demo.post(VOLUMES, { volume })

async function imageOf(fields: object = {}, isFilled = true): Promise<string> {
  const image = { name: 'disk', disk_format: 'raw', container_format: 'bare', ...fields }
  const { body } = await demo.post<{ id: string }>('/image/v2/images', image)
  const headers = { 'content-type': 'application/octet-stream' }
  const path = `/image/v2/images/${body.id}/file`
  if (isFilled)
    expect((await demo.put(path, undefined, { raw: Buffer.alloc(BYTES), headers })).status).toBe(
      204,
    )
  return body.id
}

async function available(volume: object): Promise<VolumeBody> {
  const { status, body } = await made(volume)
  expect(status, JSON.stringify(body)).toBe(202)
  const { id } = body['volume'] as VolumeBody
  return waitFor(
    `volume ${id} is available`,
    async () => {
      const shown = await demo.get(`${VOLUMES}/${id}`)
      const volume = shown.body['volume'] as VolumeBody
      return volume.status === 'available' ? volume : undefined
    },
    LIMIT_MS,
  )
}

async function removed(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect((await demo.delete(`${VOLUMES}/${id}`)).status).toBe(202)
    const isGone = async () => (await demo.get(`${VOLUMES}/${id}`)).status === 404
    await waitFor(`volume ${id} is gone`, isGone, LIMIT_MS)
  }
}

test('a volume of an image is bootable, and says which image that was, as its copies do', async () => {
  const imageRef = await imageOf({ hw_disk_bus: 'scsi', min_ram: 64 })

  const volume = await available({ size: 1, imageRef })
  const byAddress = await available({ size: 1, imageRef: `http://cloud/v2/images/${imageRef}` })
  await demo.delete(`/image/v2/images/${imageRef}`)
  const copy = await available({ source_volid: volume.id })

  const metadata = {
    image_id: imageRef,
    image_name: 'disk',
    hw_disk_bus: 'scsi',
    container_format: 'bare',
    disk_format: 'raw',
    min_disk: '0',
    min_ram: '64',
    size: String(BYTES),
  }
  for (const each of [volume, byAddress, copy])
    expect(each).toMatchObject({ size: 1, bootable: 'true', volume_image_metadata: metadata })
  expect(volume).toMatchObject({ source_volid: null })
  expect(await available({ size: 1 })).not.toHaveProperty('volume_image_metadata')
  const { body } = await demo.get(VOLUMES)
  await removed(...(body['volumes'] as readonly VolumeBody[]).map(({ id }) => id))
})

test('what an image cannot be made to is refused in the words of Cinder, and nothing is charged', async () => {
  const imageRef = await imageOf({ min_disk: 2 })
  const empty = await imageOf({}, false)
  const source = await available({ size: 1 })
  const hidden = cloud.as('admin').post<{ id: string }>('/image/v2/images', {
    ...{ name: 'hidden', disk_format: 'raw', container_format: 'bare', visibility: 'private' },
  })

  const refused = [
    await made({ imageRef }),
    await made({ size: 1, imageRef }),
    await made({ size: 1, imageRef: empty }),
    await made({ size: 1, imageRef: newId() }),
    await made({ size: 1, imageRef: 'no-id' }),
    await made({ size: 1, imageRef: (await hidden).body.id }),
    await made({ size: 2, imageRef, source_volid: source.id }),
  ]

  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400])
  const messages = refused.map(({ body }) => JSON.stringify(body))
  expect(messages[1]).toContain(
    'Volume size 1GB cannot be smaller than the image minDisk size 2GB.',
  )
  expect(messages[2]).toContain('is not active')
  for (const nth of [3, 4, 5])
    expect(messages[nth]).toContain('Invalid image identifier or unable to access')
  await removed(source.id)
})

test('what a volume knows of an image is changed, and goes into images that are made of it', async () => {
  const imageRef = await imageOf({ hw_disk_bus: 'scsi', os_distro: 'debian' })
  const { id } = await available({ size: 1, imageRef })
  const act = (action: object, who = demo) => who.post(`${VOLUMES}/${id}/action`, action)
  const set = (metadata: object, who = demo) => act({ 'os-set_image_metadata': { metadata } }, who)
  const unset = (key: string) => act({ 'os-unset_image_metadata': { key } })

  const changed = await set({ hw_disk_bus: 'virtio', image_name: 'mine', min_ram: '32' })
  expect(changed).toMatchObject({
    status: 200,
    body: { metadata: { hw_disk_bus: 'virtio', image_name: 'mine', image_id: imageRef } },
  })
  expect((await unset('os_distro')).status).toBe(200)
  const shown = await act({ 'os-show_image_metadata': null })
  const known = { ...(changed.body['metadata'] as object) } as Record<string, string>
  delete known['os_distro']
  expect(shown.body['metadata']).toEqual(known)
  const { body } = await demo.get(`${VOLUMES}/${id}`)
  expect(body['volume']).toMatchObject({ volume_image_metadata: known })

  const refused = [
    await unset('os_distro'),
    await set({ min_ram: 'much' }),
    await set({ image_id: 'tiny' }),
    await set({ owner: 'nobody' }),
    await set({ os_glance_import: 'x' }),
    await set({ 'no?': 'x' }),
    await set({ a: 'b'.repeat(256) }),
    await set(Object.fromEntries(Array.from({ length: 129 }, (_, n) => [`p${n}`, '']))),
  ]
  expect(refused.map(({ status }) => status)).toEqual([404, 400, 400, 400, 403, 400, 400, 400])
  const messages = refused.map((each) => JSON.stringify(each.body))
  expect(messages[1]).toContain("min_ram: 'much' is not a number of MiB")
  expect(messages[3]).toContain('owner is an attribute of images')

  const order = { image_name: 'made', disk_format: 'raw', container_format: 'bare' }
  const uploaded = await act({ 'os-volume_upload_image': order })
  const { image_id: made } = uploaded.body['os-volume_upload_image'] as { image_id: string }
  const image = async () => (await demo.get(`/image/v2/images/${made}`)).body
  await waitFor('the image', async () => (await image())['status'] === 'active', LIMIT_MS)
  expect(await image()).toMatchObject({ hw_disk_bus: 'virtio', min_ram: 32 })
  expect(await image()).not.toHaveProperty('os_distro')

  for (const key of Object.keys(known)) expect((await unset(key)).status).toBe(200)
  const bare = await demo.get(`${VOLUMES}/${id}`)
  expect(bare.body['volume']).not.toHaveProperty('volume_image_metadata')
  await removed(id)
  await demo.delete(`/image/v2/images/${made}`)
})

test('an image that is gone before its host reads it leaves a volume in error, which is deleted', async () => {
  const imageRef = await imageOf()
  const [asked] = await Promise.all([
    made({ size: 1, imageRef }),
    demo.delete(`/image/v2/images/${imageRef}`),
  ])

  if (asked.status === 202) {
    const { id } = asked.body['volume'] as VolumeBody
    const status = async () => {
      const { body } = await demo.get(`${VOLUMES}/${id}`)
      return (body['volume'] as VolumeBody).status
    }
    await waitFor('an end', async () => (await status()) !== 'creating', LIMIT_MS)
    expect(['available', 'error']).toContain(await status())
    await removed(id)
  } else expect(asked.status).toBe(400)
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})
