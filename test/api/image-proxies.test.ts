import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createImage, type ImageDraft } from '#gateway/app/images/create-image.ts'
import { uploadContent } from '#gateway/app/images/upload-content.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'

let api: ComputeApi
let alice: ApiClient
let mallory: ApiClient

beforeAll(async () => {
  api = await computeApi('image-proxies')
  alice = await api.user('alice', 'blue', 'member')
  mallory = await api.user('mallory', 'red', 'member')
})

afterAll(() => api?.[Symbol.asyncDispose]())

async function image(draft: ImageDraft = {}, content?: string): Promise<string> {
  const requester = { projectId: alice.projectId, isAdmin: false }
  const { images } = api.gateway
  const formats = { disk_format: 'raw', container_format: 'bare' }
  const { id } = await createImage(images, requester, { name: 'one', ...formats, ...draft })
  if (content !== undefined) {
    const body = new Blob([content]).stream()
    await uploadContent(images, requester, { imageId: id, body, declaredBytes: undefined })
  }
  return id
}

interface Images {
  readonly images: readonly { readonly id: string; readonly name: string }[]
  readonly images_links?: readonly [{ readonly href: string }]
}
const listed = async (query: string, operation = 'listImages') =>
  (await alice.call<Images>(operation, { query, version: '2.35' })).body

test('an image is shown as Nova showed it until 2.35', async () => {
  const server = randomUUID()
  const id = await image({ min_ram: 64, instance_uuid: server, auto_disk_config: 'True' }, 'x')
  const show = (version: Microversion, who = alice, image_id = id) =>
    who.call<{ image: object }>('showImage', { params: { image_id }, version })

  expect((await show('2.1')).body.image).toEqual({
    id,
    name: 'one',
    minRam: 64,
    minDisk: 0,
    metadata: { instance_uuid: server, auto_disk_config: 'True' },
    created: expect.any(String) as string,
    updated: expect.any(String) as string,
    status: 'ACTIVE',
    progress: 100,
    'OS-EXT-IMG-SIZE:size': 1,
    'OS-DCF:diskConfig': 'AUTO',
    server: { id: server, links: expect.any(Array) as object[] },
    links: [
      { rel: 'self', href: expect.stringContaining(`/compute/v2.1/images/${id}`) as string },
      { rel: 'bookmark', href: expect.stringContaining(`/compute/images/${id}`) as string },
      {
        rel: 'alternate',
        type: 'application/vnd.openstack.image',
        href: expect.stringContaining(`/image/images/${id}`) as string,
      },
    ],
  })
  expect((await show('2.35')).status).toBe(200)
  expect((await show('2.36')).status).toBe(404)
  expect((await show('2.1', mallory)).status).toBe(404)
  expect((await show('2.1', alice, 'nonsense')).body).toMatchObject({
    itemNotFound: { message: 'Image not found.' },
  })
})

test('images are filtered and paged as Nova did', async () => {
  const mark = randomUUID()
  const ids = [
    await image({ name: 'a', mark }),
    await image({ name: 'b', mark }, 'x'),
    await image({ name: 'c', mark, instance_uuid: mark }),
  ]
  const names = async (query: string) =>
    (await listed(`?property-mark=${mark}&${query}`)).images.map(({ name }) => name)

  expect(await names('')).toEqual(['c', 'b', 'a'])
  expect(await names('status=ACTIVE')).toEqual(['b'])
  expect(await names('status=saving')).toEqual(['c', 'a'])
  expect(await names('status=UNKNOWN')).toEqual([])
  expect(await names(`server=http://x/servers/${mark}`)).toEqual(['c'])
  expect(await names('name=a&minRam=0')).toEqual(['a'])
  expect(await names('changes-since=2020-01-01T00:00:00Z')).toHaveLength(3)
  expect(await names(`marker=${ids[2]}&limit=1`)).toEqual(['b'])
  const page = await listed(`?property-mark=${mark}&limit=2`, 'listImagesDetail')
  expect(page.images[0]).toMatchObject({ name: 'c', status: 'SAVING', progress: 25 })
  expect(page.images_links?.[0].href).toContain(`marker=${ids[1]}`)
})

test('metadata are the properties, until 2.38', async () => {
  const image_id = await image({ a: '1' })
  const call = (operation: string, more: object = {}, who = alice) =>
    who.call(operation, { params: { image_id, key: 'a' }, version: '2.38', ...more })

  expect((await call('listImageMetadata')).body).toEqual({ metadata: { a: '1' } })
  expect((await call('updateImageMetadata', { body: { metadata: { b: '2' } } })).body).toEqual({
    metadata: { a: '1', b: '2' },
  })
  expect((await call('showImageMetadataItem')).body).toEqual({ meta: { a: '1' } })
  expect((await call('updateImageMetadataItem', { body: { meta: { a: '3' } } })).status).toBe(200)
  expect((await call('updateImageMetadataItem', { body: { meta: { c: '3' } } })).status).toBe(400)
  expect((await call('deleteImageMetadataItem')).status).toBe(204)
  expect((await call('deleteImageMetadataItem')).status).toBe(404)
  expect((await call('replaceImageMetadata', { body: { metadata: { d: '4' } } })).body).toEqual({
    metadata: { d: '4' },
  })
  const reserved = { body: { metadata: { status: 'active' } } }
  expect((await call('updateImageMetadata', reserved)).status).toBe(403)
  expect((await call('listImageMetadata', {}, mallory)).status).toBe(404)
  expect((await call('listImageMetadata', { version: '2.39' })).status).toBe(404)
})

test('an image is deleted by its owner only', async () => {
  const image_id = await image({ visibility: 'community' })
  const remove = (who: ApiClient) =>
    who.call('deleteImage', { params: { image_id }, version: '2.35' as const })

  expect((await remove(mallory)).status).toBe(403)
  expect((await remove(alice)).status).toBe(204)
  expect((await remove(alice)).status).toBe(404)
})
