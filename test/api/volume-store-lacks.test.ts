import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: what the engine of a store cannot do is refused at once, and nothing of it is left or charged.

const owned = new AsyncDisposableStack()
let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let poor: string
let unshared: string

beforeAll(async () => {
  cloud = owned.use(await startCloud({ gateways: 1, cells: 2, hostsPerCell: 0 }))
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const [one, two] = cloud.cells
  ;[poor, unshared] = [one!.name, two!.name]
  const lacks = ['snapshots,extend-in-use,copy-in-use', 'copy-shared-in-use']
  for (const [index, cell] of [one, two].entries()) {
    const settings = { volume_store_lacks: lacks[index]! }
    owned.use(await startDrivenHost(cloud, 'fake', settings, undefined, cell))
  }
  await storesReported(cloud)
})
afterAll(async () => {
  await expectInvariants(cloud)
  await owned.disposeAsync()
})

const newVolume = (zone: string, fields: object = {}) =>
  makeStored(demo, 'volume', { size: 1, availability_zone: zone, ...fields })
const serverIn = async (zone: string) =>
  (await activeServer(cloud, demo, { availability_zone: zone })).id

async function attached(server: string, volumeId: string): Promise<void> {
  const path = `${SERVERS}/${server}/os-volume_attachments`
  await demo.post(path, { volumeAttachment: { volumeId } }, { version: '2.60' })
  await untilStored(demo, 'volume', volumeId, 'in-use')
}

/** What the requests that a store may be unable to carry out are answered. */
async function answers(id: string) {
  const act = (body: object, version: '3.0' | '3.42' = '3.0') =>
    demo.post(`${ROOT}/volumes/${id}/action`, body, { version })
  const image = { image_name: 'copy', force: true, disk_format: 'raw', container_format: 'bare' }
  const all = {
    snapshot: await demo.post(`${ROOT}/snapshots`, { snapshot: { volume_id: id, force: true } }),
    copy: await demo.post(`${ROOT}/volumes`, { volume: { size: 2, source_volid: id } }),
    upload: await act({ 'os-volume_upload_image': image }),
    extend: await act({ 'os-extend': { new_size: 3 } }, '3.42'),
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, { status, body }]) => [
      name,
      status === 400 ? (body['badRequest'] as { readonly message: string }).message : status,
    ]),
  )
}

async function usage(): Promise<unknown> {
  const path = `${ROOT}/os-quota-sets/${await cloud.projectId('demo')}?usage=true`
  const { body } = await admin.get<{ quota_set: Readonly<Record<string, { in_use: number }>> }>(
    path,
  )
  return ['volumes', 'snapshots', 'gigabytes'].map((name) => body.quota_set[name]?.in_use)
}

test('administrators see what stores lack', async () => {
  type Pools = { readonly pools: readonly { name: string; capabilities: object }[] }
  const { body } = await admin.get<Pools>(`${ROOT}/scheduler-stats/get_pools?detail=true`)

  const lacks = body.pools.map(({ capabilities }) => capabilities)
  expect(lacks).toEqual([
    expect.objectContaining({ 'weir:lacks': ['snapshots', 'extend-in-use', 'copy-in-use'] }),
    expect.objectContaining({ 'weir:lacks': ['copy-shared-in-use'] }),
  ])
})

test('a volume in use is not snapshotted, copied, extended or uploaded where its store cannot', async () => {
  const [server, id] = [await serverIn(poor), await newVolume(poor)]
  await attached(server, id)
  const before = await usage()
  const used = `Invalid volume: Volume ${id} is 'in-use', and its store`

  expect(await answers(id)).toEqual({
    snapshot: `Invalid volume: Volume ${id} is in a store that makes no snapshots. Detach it, and then create a volume with this one as its source.`,
    copy: `${used} copies no volume that a server uses. Detach it first.`,
    extend: `${used} extends no volume that a server uses. Detach it first.`,
    upload: `${used} makes no image of a volume that a server uses. Detach it first.`,
  })

  expect(await usage()).toEqual(before)
  expect(await showStored(demo, 'volume', id)).toMatchObject({ status: 'in-use', size: 1 })
  expect((await demo.get(`${ROOT}/snapshots`)).body['snapshots']).toEqual([])
  await deleteServer(demo, server)
  await removeStored(demo, 'volume', id)
})

test('a free volume of that store is copied, extended and uploaded, and no snapshot is made of it', async () => {
  const id = await newVolume(poor)
  const snapshot = { snapshot: { volume_id: id } }
  const refused = await demo.post(`${ROOT}/snapshots`, snapshot)
  expect([refused.status, refused.body['badRequest']]).toEqual([
    400,
    {
      code: 400,
      message: `Invalid volume: Volume ${id} is in a store that makes no snapshots. Create a volume with this one as its source.`,
    },
  ])

  const copy = await newVolume(poor, { source_volid: id })
  const path = `${ROOT}/volumes/${id}/action`
  expect((await demo.post(path, { 'os-extend': { new_size: 2 } })).status).toBe(202)
  await untilStored(demo, 'volume', id, 'available')
  const image = { image_name: 'free', disk_format: 'raw', container_format: 'bare' }
  expect((await demo.post(path, { 'os-volume_upload_image': image })).status).toBe(202)
  await untilStored(demo, 'volume', id, 'available')

  for (const each of [copy, id]) await removeStored(demo, 'volume', each)
})

test('an image of a server that starts from a volume is refused where that has no snapshots', async () => {
  const id = await newVolume(poor, { imageRef: cloud.catalog.image })
  const block_device_mapping_v2 = [
    { uuid: id, source_type: 'volume', destination_type: 'volume', boot_index: 0 },
  ]
  const fields = { imageRef: '', block_device_mapping_v2, availability_zone: poor }
  const { id: server } = await activeServer(cloud, demo, fields)

  const saved = await demo.post(`${SERVERS}/${server}/action`, { createImage: { name: 'saved' } })

  expect(saved.status).toBe(400)
  expect(JSON.stringify(saved.body)).toContain('is in a store that makes no snapshots')
  const images = await demo.get<{ images: { name: string }[] }>('/image/v2/images?name=saved')
  expect(images.body.images.filter(({ name }) => name === 'saved')).toHaveLength(0)
  await deleteServer(demo, server)
  await removeStored(demo, 'volume', id)
})

test('a volume that servers share is neither kept nor copied meanwhile where its store cannot', async () => {
  const extra_specs = { multiattach: '<is> True' }
  const type = { volume_type: { name: 'shared', extra_specs } }
  expect((await admin.post(`${ROOT}/types`, type)).status).toBe(200)
  const [server, id] = [
    await serverIn(unshared),
    await newVolume(unshared, { volume_type: 'shared' }),
  ]
  const own = await newVolume(unshared)
  for (const each of [id, own]) await attached(server, each)
  const used = `Invalid volume: Volume ${id} is 'in-use', and several servers may use it, so its store`
  const rest = 'meanwhile. Detach it from all servers first.'

  expect(await answers(id)).toEqual({
    snapshot: `${used} makes no snapshot of it ${rest}`,
    copy: `${used} copies no volume ${rest}`,
    extend: 202,
    upload: `${used} makes no image of a volume ${rest}`,
  })
  await untilStored(demo, 'volume', id, 'in-use')
  const snapshot = await makeStored(demo, 'snapshot', { volume_id: own, force: true })
  await removeStored(demo, 'snapshot', snapshot)

  await deleteServer(demo, server)
  for (const each of [id, own]) await removeStored(demo, 'volume', each)
})
