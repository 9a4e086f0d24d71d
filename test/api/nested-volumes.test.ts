import { afterAll, beforeAll, expect, test } from 'vitest'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import type { Microversion } from '#openapi/microversions.ts'
import {
  act,
  activeServer,
  deleteServer,
  SERVERS,
  smallServer,
  untilStatus,
} from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { storesReported } from '../env/stores-reported.ts'

// Goal: a volume requested at the top of three clouds is one at the bottom, and so is all that is done with it; nothing is left.

const STATE = { timeout: 60_000, interval: 50 }
const VOLUME = '/volume/v3'

interface Volume {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly size: number
  readonly bootable: string
  readonly attachments: readonly { readonly server_id: string }[]
  readonly 'weir:fault'?: string | null
  readonly volume_image_metadata?: Readonly<Record<string, string>>
}
interface Snapshot {
  readonly id: string
  readonly name: string
  readonly status: string
}
type Lists = {
  readonly volumes: readonly Volume[]
  readonly snapshots: readonly Snapshot[]
  readonly servers: readonly { readonly id: string }[]
}

const owned = new AsyncDisposableStack()
/** Outermost first: the host of each but the last is a project of the next. */
const clouds: Cloud[] = []
const top = () => clouds[0]!
const bottom = () => clouds[2]!
const demo = () => top().as('demo')

beforeAll(async () => {
  const small = { gateways: 1, cells: 1, processesPerCell: 1 }
  for (const hostsPerCell of [1, 0, 0])
    clouds.unshift(owned.use(await startCloud({ ...small, hostsPerCell })))
  await storesReported(bottom())
  for (const [above, below] of [
    [clouds[1]!, bottom()],
    [top(), clouds[1]!],
  ] as const) {
    owned.use(await startDrivenHost(above, 'nested', nestedSettingsFor(below)))
    await storesReported(above)
  }
}, 120_000)
afterAll(() => owned.disposeAsync())

const list = async <K extends keyof Lists>(cloud: Cloud, kind: K): Promise<Lists[K]> => {
  const path = kind === 'servers' ? SERVERS : `${VOLUME}/${kind}/detail`
  return (await cloud.as('demo').get<Lists>(path)).body[kind]
}
const volumeAt = async (cloud: Cloud, id: string) =>
  (await list(cloud, 'volumes')).find((volume) => volume.id === id)
const untilVolume = (id: string, wanted: Partial<Volume>) =>
  expect.poll(() => volumeAt(top(), id), STATE).toMatchObject(wanted)
/** Of what there is one of: as it is there. */
const atBottom = async <K extends keyof Lists>(kind: K): Promise<Lists[K][number] | undefined> =>
  (await list(bottom(), kind))[0]

async function newVolume(fields: object = {}): Promise<string> {
  const { body } = await demo().post<{ volume: Volume }>(`${VOLUME}/volumes`, {
    volume: { size: 1, ...fields },
  })
  return body.volume.id
}

async function removeVolume(id: string): Promise<void> {
  expect((await demo().delete(`${VOLUME}/volumes/${id}`)).status).toBe(202)
  await expect.poll(() => volumeAt(top(), id), STATE).toBeUndefined()
}

test('a volume is made, attached, extended and detached at the bottom, and goes from all levels', async () => {
  const id = await newVolume({ name: 'data' })
  await untilVolume(id, { status: 'available' })
  const [below] = await list(clouds[1]!, 'volumes')
  expect(below).toMatchObject({ name: `weir-${id}`, size: 1, status: 'available' })
  expect(await atBottom('volumes')).toMatchObject({ name: `weir-${below!.id}`, size: 1 })

  const server = await activeServer(top(), demo())
  const attachment = { volumeAttachment: { volumeId: id } }
  const path = `${SERVERS}/${server.id}/os-volume_attachments`
  const attached = await demo().post<{ volumeAttachment: { device: string } }>(path, attachment)
  expect(attached.body.volumeAttachment.device).toBe('/dev/vdb')
  const { id: serverId } = (await atBottom('servers'))!
  const used = { status: 'in-use', attachments: [{ server_id: serverId }] }
  expect(await atBottom('volumes')).toMatchObject(used)

  const grow = { 'os-extend': { new_size: 2 } }
  const newer = { headers: { 'openstack-api-version': 'volume 3.42' } }
  await demo().post(`${VOLUME}/volumes/${id}/action`, grow, newer)
  await untilVolume(id, { size: 2, status: 'in-use' })
  expect(await atBottom('volumes')).toMatchObject({ size: 2, status: 'in-use' })

  expect((await demo().delete(`${path}/${id}`)).status).toBe(202)
  await untilVolume(id, { status: 'available' })
  expect(await atBottom('volumes')).toMatchObject({ status: 'available', attachments: [] })
  await deleteServer(demo(), server.id)
  await removeVolume(id)
  for (const cloud of clouds) expect(await list(cloud, 'volumes')).toEqual([])
}, 120_000)

test('a server starts from a volume at the bottom, and another from a snapshot of it', async () => {
  const root = await newVolume({ imageRef: top().catalog.image })
  await untilVolume(root, { status: 'available', bootable: 'true' })
  const { imageRef: _, ...server } = (smallServer(top()) as { server: Record<string, unknown> })
    .server
  const boot = async (disk: object) => {
    const disks = [{ destination_type: 'volume', boot_index: 0, ...disk }]
    const body = { server: { ...server, block_device_mapping_v2: disks } }
    const { body: made } = await demo().post<{ server: { id: string } }>(SERVERS, body)
    await untilStatus(demo(), made.server.id, 'ACTIVE')
    return made.server.id
  }

  const first = await boot({ source_type: 'volume', uuid: root })
  expect(await atBottom('volumes')).toMatchObject({ status: 'in-use', bootable: 'true' })
  const snapshot = { volume_id: root, name: 'kept', force: true }
  const kept = await demo().post<{ snapshot: Snapshot }>(`${VOLUME}/snapshots`, { snapshot })
  const { id: snapshotId } = kept.body.snapshot
  const untilKept = async () => (await list(top(), 'snapshots'))[0]?.status
  await expect.poll(untilKept, STATE).toBe('available')
  expect(await atBottom('snapshots')).toMatchObject({ status: 'available' })
  const source = { source_type: 'snapshot', uuid: snapshotId, delete_on_termination: true }
  const second = await boot({ ...source, volume_size: 1 })
  expect((await list(bottom(), 'volumes')).map(({ status }) => status)).toEqual([
    'in-use',
    'in-use',
  ])

  for (const id of [first, second]) await deleteServer(demo(), id)
  await demo().delete(`${VOLUME}/snapshots/${snapshotId}`)
  await expect.poll(() => list(top(), 'snapshots'), STATE).toEqual([])
  await untilVolume(root, { status: 'available' })
  await removeVolume(root)
  for (const kind of ['volumes', 'snapshots', 'servers'] as const)
    for (const cloud of clouds) await expect.poll(() => list(cloud, kind), STATE).toEqual([])
}, 120_000)

test('a server that starts from a volume is rebuilt on it, and rescued, at the bottom', async () => {
  const own = { disk_format: 'raw', container_format: 'bare', hypervisor_type: 'fake' }
  const device = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
  const draft = { name: 'other', ...own, ...device }
  const { body: image } = await demo().post<{ id: string }>('/image/v2/images', draft)
  await demo().call('PUT', `/image/v2/images/${image.id}/file`, undefined, {
    raw: Buffer.from('other'),
    headers: { 'content-type': 'application/octet-stream' },
  })
  const first = top().catalog.image
  const root = await newVolume({ imageRef: first })
  await untilVolume(root, { status: 'available' })
  const { imageRef: _, ...server } = (smallServer(top()) as { server: Record<string, unknown> })
    .server
  const disk = { source_type: 'volume', destination_type: 'volume', uuid: root, boot_index: 0 }
  const asked = { server: { ...server, block_device_mapping_v2: [disk] } }
  const made = await demo().post<{ server: { id: string } }>(SERVERS, asked)
  const { id } = made.body.server
  await untilStatus(demo(), id, 'ACTIVE')
  const imageBelow = async () => (await atBottom('volumes'))?.volume_image_metadata?.['image_name']
  const does = async (action: object, status: string, version: Microversion) => {
    const answer = await act(demo(), id, action, { version })
    expect([action, answer.status]).toEqual([action, 'rescue' in action ? 200 : 202])
    await untilStatus(demo(), id, status)
  }
  const before = await imageBelow()
  const { id: volumeBelow } = (await atBottom('volumes'))!

  await does({ rebuild: { imageRef: first } }, 'ACTIVE', '2.92')
  expect(await imageBelow()).toBe(before)
  await does({ rebuild: { imageRef: image.id } }, 'ACTIVE', '2.93')
  await untilVolume(root, { status: 'in-use' })
  await expect.poll(imageBelow, STATE).toMatch(/^other/)
  expect(await atBottom('volumes')).toMatchObject({ id: volumeBelow, status: 'in-use' })

  await does({ rescue: null }, 'RESCUE', '2.87')
  expect(await bottom().as('demo').get(`${SERVERS}/detail`)).toMatchObject({
    body: { servers: [{ status: 'RESCUE' }] },
  })
  await does({ unrescue: null }, 'ACTIVE', '2.1')

  await deleteServer(demo(), id)
  await untilVolume(root, { status: 'available' })
  await removeVolume(root)
}, 120_000)

test('the reason of the cloud below is that of the volume here', async () => {
  const below = clouds[1]!
  const project = below.foundation.accounts.demo.project
  const admin = below.as('admin')
  type Projects = { readonly projects: readonly { readonly id: string; readonly name: string }[] }
  const { body } = await admin.get<Projects>('/identity/v3/projects')
  const { id: projectId } = body.projects.find(({ name }) => name === project)!
  const quota = `${VOLUME}/os-quota-sets/${projectId}`
  const limit = async (volumes: number) => admin.put(quota, { quota_set: { volumes } })
  await limit(0)

  const id = await newVolume()
  await untilVolume(id, { status: 'error' })
  const shown = await top().as('admin').get<{ volume: Volume }>(`${VOLUME}/volumes/${id}`)
  expect(shown.body.volume['weir:fault']).toContain('quota')
  await limit(10)
  await removeVolume(id)
}, 120_000)

test('a cloud is verified with its room for volumes, and with the types that it lacks', async () => {
  const found = async (more: Readonly<Record<string, string>> = {}) => {
    const settings = nestedSettings({ ...nestedSettingsFor(bottom()), ...more })
    const outside = { networks: [], clouds: [] }
    const all = await verifyCloud(settings, { cells: [], flavors: [], networks: [], outside })
    return all.find(({ check }) => check === 'volumes')
  }

  expect(await found()).toMatchObject({ result: 'ok', detail: 'free: 1000 GiB in default' })
  expect(await found({ volume_gb: '7', volume_types: 'fast' })).toMatchObject({
    result: 'warning',
    detail: 'free: 7 GiB in default; of volume_types (fast) it has no other',
  })
})

test('a type of the cloud that an operator names is a store, and its volumes have that type', async () => {
  const volume_type = { name: 'fast' }
  await bottom().as('admin').post(`${VOLUME}/types`, { volume_type })
  const settings = { ...nestedSettingsFor(bottom()), volume_types: 'fast' }
  owned.use(await startDrivenHost(clouds[1]!, 'nested', settings))
  const [admin, user] = [clouds[1]!.as('admin'), clouds[1]!.as('demo')]
  const fast = { name: 'fast', extra_specs: { volume_backend_name: 'fast' } }
  await admin.post(`${VOLUME}/types`, { volume_type: fast })
  const volume = { size: 1, volume_type: 'fast' }
  const make = async () =>
    (await user.post<{ volume: Volume }>(`${VOLUME}/volumes`, { volume })).body
  await expect.poll(async () => (await make()).volume?.id, STATE).toBeDefined()

  await expect
    .poll(() => atBottom('volumes'), STATE)
    .toMatchObject({
      volume_type: 'fast',
      status: 'available',
    })
  const untilMade = async () => (await list(clouds[1]!, 'volumes')).map(({ status }) => status)
  await expect.poll(untilMade, STATE).toEqual(['available'])
  for (const { id } of await list(clouds[1]!, 'volumes'))
    expect((await user.delete(`${VOLUME}/volumes/${id}`)).status).toBe(202)
  await expect.poll(() => list(bottom(), 'volumes'), STATE).toEqual([])
}, 120_000)
