import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a server that moves within its cell has the same volumes afterwards, and no other server gets them.

interface Body {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}

const ROOT = '/volume/v3'
const LIMIT_MS = 30_000
const VOLUME = { destination_type: 'volume', delete_on_termination: false }

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let id: string

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, hostsPerCell: 3 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
})
beforeEach(async () => {
  id = await boot()
})
afterEach(async () => {
  await expectInvariants(cloud)
  await deleteServer(demo, id)
  for (const volume of await volumes()) await demo.delete(`${ROOT}/volumes/${volume.id}`)
  await waitFor('no volume', async () => (await volumes()).length === 0, LIMIT_MS)
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const volumes = async () =>
  (await demo.get(`${ROOT}/volumes/detail`)).body['volumes'] as readonly Body[]
const hostOf = async () => String((await showServer(admin, id))['OS-EXT-SRV-ATTR:host'])
const attached = async () => (await showServer(demo, id))['os-extended-volumes:volumes_attached']
const until = (status: string) => untilStatus(demo, id, status)

/** A server that starts from a volume and has another one. */
async function boot(): Promise<string> {
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef, ...rest } = server
  const image = { ...VOLUME, source_type: 'image', uuid: imageRef }
  const disks = [
    { ...image, volume_size: 1, boot_index: 0 },
    { ...VOLUME, source_type: 'blank', volume_size: 2, boot_index: -1 },
  ]
  const asked = { server: { ...rest, block_device_mapping_v2: disks } }
  const { status, body } = await demo.post<{ server: { id: string } }>(SERVERS, asked)
  expect(status).toBe(202)
  await untilStatus(demo, body.server.id, 'ACTIVE')
  return body.server.id
}

async function expectAct(client: ApiClient, action: Record<string, unknown>): Promise<void> {
  const { status, body } = await act(client, id, action)
  expect(status, JSON.stringify(body)).toBe(202)
}

/** The server has the volumes that it had before, and no other server has them. */
async function expectHeld(before: unknown): Promise<void> {
  expect(await attached()).toEqual(before)
  for (const volume of await volumes())
    expect(volume).toMatchObject({ status: 'in-use', attachments: [{ server_id: id }] })
}

test('a live migration', async () => {
  const [before, host] = [await attached(), await hostOf()]

  await expectAct(admin, {
    'os-migrateLive': { host: null, block_migration: false, disk_over_commit: false },
  })
  await expect.poll(hostOf, { timeout: LIMIT_MS }).not.toBe(host)

  await until('ACTIVE')
  await expectHeld(before)
})

test('a migration, there and back and there again; meanwhile its volumes stay as they are', async () => {
  const [before, host] = [await attached(), await hostOf()]
  const made = await demo.post(`${ROOT}/volumes`, { volume: { size: 1 } })
  const other = (made.body['volume'] as Body).id
  await waitFor(
    'the volume',
    async () => (await volumes()).some((each) => each.id === other && each.status === 'available'),
    LIMIT_MS,
  )

  await expectAct(admin, { migrate: null })
  await until('VERIFY_RESIZE')
  expect(await hostOf()).not.toBe(host)
  const attachments = `${SERVERS}/${id}/os-volume_attachments`
  const attaching = await demo.post(attachments, { volumeAttachment: { volumeId: other } })
  expect(attaching.status).toBe(409)
  expect(JSON.stringify(attaching.body)).toContain(`was moved from host ${host} to`)
  await expectAct(demo, { revertResize: null })
  await until('ACTIVE')
  expect(await hostOf()).toBe(host)
  await demo.delete(`${ROOT}/volumes/${other}`)
  await waitFor('two volumes', async () => (await volumes()).length === 2, LIMIT_MS)
  await expectHeld(before)

  await expectAct(admin, { migrate: null })
  await until('VERIFY_RESIZE')
  expect((await act(demo, id, { confirmResize: null })).status).toBe(204)
  await until('ACTIVE')
  await expectHeld(before)
})

test('a resize, also to a flavor with a smaller disk, which its volume is not', async () => {
  const [before, host] = [await attached(), await hostOf()]
  const flavor = { name: 'narrow', ram: 1024, vcpus: 2, disk: 0 }
  const made = await admin.post<{ flavor: Body }>('/compute/v2.1/flavors', { flavor })

  await expectAct(demo, { resize: { flavorRef: made.body.flavor.id } })
  await until('VERIFY_RESIZE')
  expect(await hostOf()).toBe(host)
  await expectHeld(before)
  await expectAct(demo, { revertResize: null })
  await until('ACTIVE')

  await expectHeld(before)
  await admin.delete(`/compute/v2.1/flavors/${made.body.flavor.id}`)
})

test('shelving, which makes no image of it, and a host that comes back without it', async () => {
  const before = await attached()
  const images = async () =>
    (await demo.get<{ images: readonly Body[] }>('/image/v2/images')).body.images.length
  const count = await images()

  await expectAct(demo, { shelve: null })
  await until('SHELVED_OFFLOADED')
  expect(await images()).toBe(count)
  await expectHeld(before)
  await expectAct(demo, { unshelve: null })
  await until('ACTIVE')

  await expectHeld(before)
})

test('a server that is deleted while it is shelved frees its volumes', async () => {
  await expectAct(demo, { shelve: null })
  await until('SHELVED_OFFLOADED')

  await deleteServer(demo, id)

  const free = async () => (await volumes()).map(({ status }) => status)
  await expect.poll(free, { timeout: LIMIT_MS }).toEqual(['available', 'available'])
  id = await boot()
})
