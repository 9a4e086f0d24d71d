import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  deleteServer,
  SERVERS,
  type Server,
  showServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a server starts from a volume, or has volumes from the start, as Nova does it; and whatever fails, no volume is lost or kept.

interface VolumeBody {
  readonly id: string
  readonly status: string
  readonly attachments: readonly { readonly server_id: string; readonly device: string | null }[]
  readonly [field: string]: unknown
}

const VOLUMES = '/volume/v3/volumes'
const LIMIT_MS = 30_000

let cloud: Cloud
let demo: ApiClient
let imageRef: string

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  imageRef = cloud.catalog.image
  await storesReported(cloud)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  for (const { id } of body.servers) await deleteServer(demo, id)
  for (const { id, status } of await volumes()) {
    if (status !== 'deleting') expect((await demo.delete(`${VOLUMES}/${id}`)).status).toBe(202)
    await waitFor(`no ${id}`, async () => (await show(id)) === undefined, LIMIT_MS)
  }
})

async function volumes(): Promise<readonly VolumeBody[]> {
  const { body } = await demo.get(`${VOLUMES}/detail`)
  return body['volumes'] as readonly VolumeBody[]
}

async function show(id: string): Promise<VolumeBody | undefined> {
  const { status, body } = await demo.get(`${VOLUMES}/${id}`)
  return status === 404 ? undefined : (body['volume'] as VolumeBody)
}

const untilVolume = (id: string, wanted: string) =>
  waitFor(
    `volume ${id} is ${wanted}`,
    async () => {
      const volume = await show(id)
      return volume?.status === wanted ? volume : undefined
    },
    LIMIT_MS,
  )

async function volume(fields: object = {}): Promise<string> {
  const { body } = await demo.post(VOLUMES, { volume: { size: 1, ...fields } })
  const { id } = body['volume'] as VolumeBody
  await untilVolume(id, 'available')
  return id
}

/** Asks for a server with these disks; without an image of its own. */
function boot(
  disks: readonly object[],
  more: Record<string, unknown> = {},
  version: '2.1' | '2.67' = '2.1',
) {
  const { server } = smallServer(cloud, more) as { server: Record<string, unknown> }
  const { imageRef: own, ...rest } = server
  const asked = more['imageRef'] === undefined ? rest : { ...rest, imageRef: own }
  const body = { server: { ...asked, block_device_mapping_v2: disks } }
  return demo.post<{ server: { id: string } }>(SERVERS, body, { version })
}

const rootOf = (id: string) => ({
  ...{ source_type: 'volume', destination_type: 'volume', uuid: id, boot_index: 0 },
})

const fromImage = (more: object = {}) => ({
  ...{ source_type: 'image', destination_type: 'volume', uuid: imageRef, boot_index: '0' },
  ...{ volume_size: 1, ...more },
})

test('a server starts from a volume, with others beside it, and leaves them as they were', async () => {
  const root = await volume({ imageRef, availability_zone: 'north' })
  const other = await volume({ availability_zone: 'north' })
  const disks = [
    rootOf(root),
    { source_type: 'volume', destination_type: 'volume', uuid: other, boot_index: -1 },
    { source_type: 'blank', destination_type: 'volume', volume_size: 2, boot_index: null },
  ]

  const { status, body } = await boot(disks)
  expect(status).toBe(202)
  const { id } = body.server
  await untilStatus(demo, id, 'ACTIVE')

  expect(await showServer(demo, id)).toMatchObject({ image: '' })
  expect(await untilVolume(root, 'in-use')).toMatchObject({
    attachments: [{ server_id: id, device: '/dev/vda' }],
  })
  expect(await show(other)).toMatchObject({ attachments: [{ device: '/dev/vdb' }] })
  const made = (await volumes()).find((each) => each.id !== root && each.id !== other)
  expect(made).toMatchObject({ size: 2, status: 'in-use', attachments: [{ device: '/dev/vdc' }] })
  await deleteServer(demo, id)
  for (const each of [root, other, made!.id]) await untilVolume(each, 'available')
})

test('what would need its disk as an image is refused, and its first disk stays', async () => {
  const root = await volume({ imageRef })
  const { id } = (await boot([rootOf(root)])).body.server
  await untilStatus(demo, id, 'ACTIVE')
  const act = (action: object) => demo.post(`${SERVERS}/${id}/action`, action)

  const refused = [
    await act({ createBackup: { name: 'backup', backup_type: 'daily', rotation: 1 } }),
    await demo.delete(`${SERVERS}/${id}/os-volume_attachments/${root}`),
    await demo.delete(`${VOLUMES}/${root}`),
  ]
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400])
  expect(JSON.stringify(refused[0]!.body)).toContain(
    'Backup is not supported for volume-backed instances.',
  )

  expect((await act({ reboot: { type: 'HARD' } })).status).toBe(202)
  await untilStatus(demo, id, 'ACTIVE')
  expect((await act({ 'os-stop': null })).status).toBe(202)
  await untilStatus(demo, id, 'SHUTOFF')
})

test('servers are made with new volumes from an image, which are deleted with them if that is asked for', async () => {
  const disk = fromImage({ delete_on_termination: true })
  const { status, body } = await boot([disk], { min_count: 2 })

  expect(status).toBe(202)
  const servers = (await demo.get<{ servers: readonly Server[] }>(SERVERS)).body.servers
  expect(servers).toHaveLength(2)
  for (const { id } of servers) await untilStatus(demo, id, 'ACTIVE')
  const made = await volumes()
  expect(made).toHaveLength(2)
  for (const each of made)
    expect(each).toMatchObject({ status: 'in-use', bootable: 'true', size: 1 })
  expect(new Set(made.flatMap((each) => each.attachments.map((of) => of.server_id))).size).toBe(2)

  await deleteServer(demo, body.server.id)
  const left = () => volumes().then((all) => all.length === 1)
  await waitFor('one volume', left, LIMIT_MS)
})

test('bad requests are refused in the words of Nova, and hold nothing', async () => {
  const plain = await volume()
  const busy = await volume({ imageRef })
  const north = await volume({ availability_zone: 'north' })
  const south = await volume({ availability_zone: 'south' })
  const { id } = (await boot([rootOf(busy)])).body.server
  await untilStatus(demo, id, 'ACTIVE')
  const beside = (uuid: string) => ({
    ...{ source_type: 'volume', destination_type: 'volume', uuid, boot_index: -1 },
  })

  const refused = [
    await boot([rootOf(plain)]),
    await boot([rootOf(busy)]),
    await boot([rootOf(newId())]),
    await boot([]),
    await boot([fromImage({ volume_size: undefined })]),
    await boot([fromImage({ uuid: newId() })]),
    await boot([rootOf(plain)], { imageRef }),
    await boot([beside(plain)], { imageRef, min_count: 2 }),
    await boot([beside(north), beside(south)], { imageRef }),
    await boot([fromImage({ volume_type: 'no-such-type' })], { networks: 'none' }, '2.67'),
    await boot([beside(north)], { imageRef, availability_zone: 'south' }),
  ]

  const statuses = refused.map(({ status }) => status)
  expect(statuses).toEqual(Array(11).fill(400))
  const texts = refused.map(({ body }) => JSON.stringify(body))
  expect(texts[0]).toContain(`Block Device ${plain} is not bootable.`)
  expect(texts[1]).toContain('status must be available')
  expect(texts[2]).toContain('could not be found')
  expect(texts[9]).toContain('no-such-type')
  expect(texts[3]).toContain('Invalid imageRef')
  expect(texts[7]).toContain('multiple instances')
  expect(texts[8]).toContain('not in the same cell')
  expect(texts[10]).toContain('Server is in: south. Volumes are in: north.')
  for (const each of [plain, north, south]) await untilVolume(each, 'available')
})

test('the quota of volumes bounds what servers bring, and a refused server brings nothing', async () => {
  const project = await cloud.projectId('demo')
  const admin = cloud.as('admin')
  const limit = (number: number) =>
    admin.put(`/volume/v3/os-quota-sets/${project}`, { quota_set: { volumes: number } })
  await limit(1)

  const refused = await boot([fromImage(), { ...fromImage(), boot_index: -1 }])

  expect(refused.status).toBe(403)
  expect(await volumes()).toEqual([])
  await limit(10)
})

test('of two servers that want one volume at the same time, one gets it', async () => {
  const root = await volume({ imageRef })

  const answers = await Promise.all([boot([rootOf(root)]), boot([rootOf(root)])])

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 400])
  const { id } = answers.find(({ status }) => status === 202)!.body.server
  await untilStatus(demo, id, 'ACTIVE')
})

test('servers start with one multiattach volume, of clients that know of it', async () => {
  const volume_type = { name: 'shared', extra_specs: { multiattach: '<is> True' } }
  await cloud.as('admin').post('/volume/v3/types', { volume_type })
  const shared = await volume({ volume_type: 'shared', availability_zone: 'north' })
  const disks = [
    { ...fromImage({ delete_on_termination: true }) },
    { source_type: 'volume', destination_type: 'volume', uuid: shared, boot_index: -1 },
  ]

  const refused = await boot(disks)
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('starting with compute API version 2.60'),
  ])
  const ids: string[] = []
  for (const _ of [1, 2]) {
    const { status, body } = await boot(disks, {}, '2.67')
    expect(status).toBe(202)
    await untilStatus(demo, body.server.id, 'ACTIVE')
    ids.push(body.server.id)
  }

  expect((await show(shared))?.attachments.length).toBe(2)
  for (const id of ids) await deleteServer(demo, id)
  await untilVolume(shared, 'available')
  await demo.delete(`${VOLUMES}/${shared}`)
})

/** One that no host has the memory for. */
async function hugeFlavor(): Promise<{ readonly flavorRef: string }> {
  const admin = cloud.as('admin')
  const quotas = `/compute/v2.1/os-quota-sets/${await cloud.projectId('demo')}`
  expect((await admin.put(quotas, { quota_set: { ram: -1 } })).status).toBe(200)
  const flavor = { name: 'huge', ram: 2 ** 30, vcpus: 1, disk: 1 }
  const { body } = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
  return { flavorRef: body.flavor.id }
}

test('a server that no host can take lets its volumes go', async () => {
  const root = await volume({ imageRef, availability_zone: 'north' })

  const { flavorRef } = await hugeFlavor()

  const { status, body } = await boot([rootOf(root)], { flavorRef })

  expect(status).toBe(202)
  await untilStatus(demo, body.server.id, 'ERROR')
  await untilVolume(root, 'available')
})

test('a server whose new volume is not made is in ERROR with the reason', async () => {
  const hosts = cloud.cells.flatMap((cell) => cell.hosts)
  expect(hosts.length).toBeGreaterThan(0)
  const large = { volume_size: 1_000_000 }
  const admin = cloud.as('admin')
  const project = await cloud.projectId('demo')
  const unlimited = { gigabytes: -1, per_volume_gigabytes: -1 }
  await admin.put(`/volume/v3/os-quota-sets/${project}`, { quota_set: unlimited })

  const { status, body } = await boot([fromImage(large)])

  expect(status).toBe(202)
  await untilStatus(demo, body.server.id, 'ERROR')
  const { fault } = (await showServer(demo, body.server.id)) as { fault?: { message: string } }
  expect(fault?.message).toContain('did not finish being created')
  expect(await volumes()).toMatchObject([{ status: 'error', attachments: [] }])
})

test('a server that is deleted while its volume is made leaves nothing behind', async () => {
  const { body } = await boot([fromImage({ delete_on_termination: true })])

  await deleteServer(demo, body.server.id)

  await waitFor('no volume', async () => (await volumes()).length === 0, LIMIT_MS)
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})
