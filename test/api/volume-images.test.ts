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
