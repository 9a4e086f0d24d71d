import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a server that starts from a volume is saved as an image, from which servers with the same volumes are built.

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
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const listed = async (kind: 'volumes' | 'snapshots') =>
  (await demo.get(`${ROOT}/${kind}/detail`)).body[kind] as readonly Body[]

async function boot(fields: object): Promise<string> {
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef: _, ...rest } = server
  const { status, body } = await demo.post<{ server: { id: string } }>(SERVERS, {
    server: { ...rest, ...fields },
  })
  expect(status).toBe(202)
  await untilStatus(demo, body.server.id, 'ACTIVE')
  return body.server.id
}

/** A server that starts from a volume and has another one. */
function bootFromVolumes(): Promise<string> {
  const volume = { destination_type: 'volume', delete_on_termination: false }
  return boot({
    block_device_mapping_v2: [
      {
        ...{ ...volume, source_type: 'image', uuid: cloud.catalog.image },
        ...{ volume_size: 1, boot_index: 0 },
      },
      { ...volume, source_type: 'blank', volume_size: 2, boot_index: -1 },
    ],
  })
}

const save = (id: string, name: string) =>
  demo.post(`${SERVERS}/${id}/action`, { createImage: { name } })

async function removedAll(): Promise<void> {
  for (const { id } of await listed('snapshots')) await demo.delete(`${ROOT}/snapshots/${id}`)
  await waitFor('no snapshot', async () => (await listed('snapshots')).length === 0, LIMIT_MS)
  for (const { id } of await listed('volumes')) await demo.delete(`${ROOT}/volumes/${id}`)
  await waitFor('no volume', async () => (await listed('volumes')).length === 0, LIMIT_MS)
}

test('its image names snapshots, and a server of that image has volumes of the same content', async () => {
  const source = await bootFromVolumes()
  const saved = await save(source, 'saved')
  expect(saved.status).toBe(202)
  const imageRef = String(saved.headers['location']).split('/').at(-1) ?? ''

  const { body: image } = await demo.get<Body>(`${IMAGES}/${imageRef}`)
  expect(image).toMatchObject({ status: 'active', size: 0, bdm_v2: 'True', name: 'saved' })
  const mapping = JSON.parse(String(image['block_device_mapping'])) as readonly object[]
  const snapshots = await listed('snapshots')
  expect(mapping).toMatchObject([
    { source_type: 'snapshot', boot_index: 0, volume_size: 1 },
    { source_type: 'snapshot', boot_index: null, volume_size: 2 },
  ])
  expect(snapshots.map(({ name, status }) => [name, status])).toEqual(
    Array(2).fill(['snapshot for saved', 'available']),
  )

  const plain = await boot({ imageRef })
  const local = { source_type: 'image', destination_type: 'local', uuid: imageRef, boot_index: 0 }
  const described = await boot({ imageRef, block_device_mapping_v2: [local] })

  for (const id of [plain, described]) {
    const server = await showServer(demo, id)
    expect(server).toMatchObject({ image: '' })
    const attached = server['os-extended-volumes:volumes_attached'] as readonly Body[]
    const volumes = (await listed('volumes')).filter((each) => {
      return attached.some((of) => of.id === each.id)
    })
    expect(new Set(volumes.map(({ size }) => size))).toEqual(new Set([1, 2]))
    const made = new Set(volumes.map((each) => each['snapshot_id']))
    expect(made).toEqual(new Set(snapshots.map(({ id: snapshot }) => snapshot)))
  }
  for (const id of [source, plain, described]) await deleteServer(demo, id)
  await demo.delete(`${IMAGES}/${imageRef}`)
  await removedAll()
})

test('it is evacuated with its volumes, and keeps them when its former host is back', async () => {
  const id = await bootFromVolumes()
  const hostOf = async () => String((await showServer(admin, id))['OS-EXT-SRV-ATTR:host'])
  const former = await hostOf()
  const forceDown = (forced_down: boolean) =>
    admin.put(
      '/compute/v2.1/os-services/force-down',
      { host: former, binary: 'nova-compute', forced_down },
      { version: '2.11' },
    )
  const attached = async () => (await showServer(demo, id))['os-extended-volumes:volumes_attached']
  const before = await attached()
  await forceDown(true)

  const { status } = await admin.post(
    `${SERVERS}/${id}/action`,
    { evacuate: {} },
    { version: '2.95' },
  )
  expect(status).toBe(200)
  await expect.poll(hostOf, { timeout: LIMIT_MS }).not.toBe(former)
  await untilStatus(demo, id, 'SHUTOFF')
  await forceDown(false)

  expect(await attached()).toEqual(before)
  expect((await demo.post(`${SERVERS}/${id}/action`, { 'os-start': null })).status).toBe(202)
  await untilStatus(demo, id, 'ACTIVE')
  for (const { status: is } of await listed('volumes')) expect(is).toBe('in-use')
  await expectInvariants(cloud)
  await deleteServer(demo, id)
  await removedAll()
})

test('what the quota does not allow leaves neither image nor snapshots', async () => {
  const source = await bootFromVolumes()
  const [volume] = await listed('volumes')
  const quota = `${ROOT}/os-quota-sets/${String(volume?.['os-vol-tenant-attr:tenant_id'])}`
  await admin.put(quota, { quota_set: { snapshots: 1 } })

  const refused = await save(source, 'refused')
  expect(refused.status).toBe(403)
  expect(JSON.stringify(refused.body)).toContain('Maximum number of snapshots allowed (1)')

  await waitFor('no snapshot', async () => (await listed('snapshots')).length === 0, LIMIT_MS)
  const { body } = await demo.get<{ images: readonly Body[] }>(`${IMAGES}?name=refused`)
  expect(body.images).toEqual([])
  await admin.delete(quota)
  await deleteServer(demo, source)
  await removedAll()
})

test('an image whose mapping cannot be read is refused, and what it names has to be there', async () => {
  const source = await bootFromVolumes()
  const saved = await save(source, 'broken')
  const imageRef = String(saved.headers['location']).split('/').at(-1) ?? ''
  const { server } = smallServer(cloud, { imageRef })
  const ask = () => demo.post(SERVERS, { server })

  for (const { id } of await listed('snapshots')) await demo.delete(`${ROOT}/snapshots/${id}`)
  await waitFor('no snapshot', async () => (await listed('snapshots')).length === 0, LIMIT_MS)
  const gone = await ask()
  expect(gone.status).toBe(400)
  expect(JSON.stringify(gone.body)).toContain('Block Device Mapping is Invalid: Snapshot')
  const patch = [{ op: 'replace', path: '/block_device_mapping', value: 'nonsense' }]
  await demo.call('PATCH', `${IMAGES}/${imageRef}`, patch, {
    headers: { 'content-type': 'application/openstack-images-v2.1-json-patch' },
  })
  const broken = await ask()
  expect(broken.status).toBe(400)
  expect(JSON.stringify(broken.body)).toContain('is no list of disks')

  await demo.delete(`${IMAGES}/${imageRef}`)
  await deleteServer(demo, source)
  await removedAll()
})
