import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume is made from another one beside it, as Cinder allows it, and each lives on without the other.

interface VolumeBody {
  readonly id: string
  readonly status: string
  readonly 'os-vol-host-attr:host'?: string
  readonly [field: string]: unknown
}

const VOLUMES = '/volume/v3/volumes'
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

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const made = (volume: object, who = demo) => who.post(VOLUMES, { volume })

async function show(id: string, who = demo): Promise<VolumeBody | undefined> {
  const { status, body } = await who.get(`${VOLUMES}/${id}`)
  return status === 404 ? undefined : (body['volume'] as VolumeBody)
}

const untilStatus = (id: string, wanted: string) =>
  waitFor(
    `volume ${id} is ${wanted}`,
    async () => {
      const volume = await show(id)
      return volume?.status === wanted ? volume : undefined
    },
    LIMIT_MS,
  )

async function available(volume: object): Promise<VolumeBody> {
  const { body } = await made(volume)
  return untilStatus((body['volume'] as VolumeBody).id, 'available')
}

async function removed(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect((await demo.delete(`${VOLUMES}/${id}`)).status).toBe(202)
    await waitFor(`volume ${id} is gone`, async () => (await show(id)) === undefined, LIMIT_MS)
  }
}

const storeOf = async (id: string) => (await show(id, admin))?.['os-vol-host-attr:host']

test('a copy has the size, the store and the type of its source unless more is asked for', async () => {
  await admin.post('/volume/v3/types', { volume_type: { name: 'plain' } })
  const where = { availability_zone: 'south', volume_type: 'plain' }
  const source = await available({ size: 2, ...where })
  await demo.post(`${VOLUMES}/${source.id}/action`, { 'os-set_bootable': { bootable: true } })

  const same = await available({ source_volid: source.id, size: null })
  const larger = await available({ source_volid: source.id, size: 4 })

  expect(same).toMatchObject({ size: 2, source_volid: source.id, bootable: 'true', ...where })
  expect(larger).toMatchObject({ size: 4, source_volid: source.id, ...where })
  expect(await storeOf(same.id)).toBe(await storeOf(source.id))
  await removed(source.id)
  expect(await show(same.id)).toMatchObject({ status: 'available', source_volid: source.id })
  await removed(same.id, larger.id)
})

test('a volume is copied while a server uses it', async () => {
  const server = await activeServer(cloud, demo, { name: 'user', availability_zone: 'north' })
  const { id } = await available({ size: 1, availability_zone: 'north' })
  const attachment = { volumeAttachment: { volumeId: id } }
  await demo.post(`${SERVERS}/${server.id}/os-volume_attachments`, attachment)
  await untilStatus(id, 'in-use')

  const copy = await available({ source_volid: id })

  expect(copy).toMatchObject({ size: 1, source_volid: id, attachments: [] })
  expect(await show(id)).toMatchObject({ status: 'in-use' })
  await deleteServer(demo, server.id)
  await untilStatus(id, 'available')
  await removed(id, copy.id)
})

test('what a copy cannot be is refused in the words of Cinder, and nothing is charged', async () => {
  await admin.post('/volume/v3/types', {
    volume_type: { name: 'gold', extra_specs: { volume_backend_name: 'gold' } },
  })
  const { id } = await available({ size: 2, availability_zone: 'north' })
  const foreign = await made({ size: 1 }, admin)
  const foreignId = (foreign.body['volume'] as VolumeBody).id
  const refused = [
    await made({}),
    await made({ source_volid: id, size: 1 }),
    await made({ source_volid: id, availability_zone: 'south' }),
    await made({ source_volid: id, volume_type: 'gold' }),
    await made({ source_volid: 'no-id' }),
    await made({ source_volid: newId() }),
    await made({ source_volid: foreignId }),
  ]

  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 404, 404])
  expect(JSON.stringify(refused[1]?.body)).toContain(
    "Volume size '1'GB cannot be smaller than original volume size  2GB.",
  )
  await admin.post(`${VOLUMES}/${id}/action`, { 'os-reset_status': { status: 'error' } })
  expect((await made({ source_volid: id })).status).toBe(400)
  await removed(id)
  await admin.delete(`${VOLUMES}/${foreignId}`)
  await waitFor('no foreign', async () => !(await show(foreignId, admin)), LIMIT_MS)
})

test('a source that is gone before its cell is asked leaves a volume in error, or a whole copy', async () => {
  for (let round = 0; round < 5; round += 1) {
    const source = await available({ size: 1 })

    const [asked] = await Promise.all([
      made({ source_volid: source.id }),
      demo.delete(`${VOLUMES}/${source.id}`),
    ])

    await waitFor('no source', async () => !(await show(source.id)), LIMIT_MS)
    if (asked.status !== 202) {
      expect([400, 404]).toContain(asked.status)
      continue
    }
    const { id } = asked.body['volume'] as VolumeBody
    await waitFor('an end', async () => (await show(id))?.status !== 'creating', LIMIT_MS)
    expect(['available', 'error']).toContain((await show(id))?.status)
    await removed(id)
  }
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})
