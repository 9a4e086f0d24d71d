import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, deleteServer, SERVERS, smallServer, untilStatus } from '#test/env/api/servers.ts'
import {
  makeStored,
  BLOCK_STORAGE as ROOT,
  removeStored,
  type StoredBody,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a volume of an encrypting type has a key that its cell alone keeps, and every host gets it when it opens the volume.
// Simulated hosts refuse to open it with no key, or with another one.

const poll = { timeout: 30_000 }

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 2 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
  const sealed = await type('sealed', { key_size: 128 })
  expect(sealed.encryption).toMatchObject({ key_size: 128, cipher: null, provider: 'luks' })
  await type('plain')
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

async function type(name: string, encryption?: object, extra_specs: object = {}) {
  const made = await admin.post(`${ROOT}/types`, { volume_type: { name, extra_specs } })
  const { id } = made.body['volume_type'] as StoredBody
  if (encryption === undefined) return { id }
  const full = { provider: 'luks', control_location: 'front-end', ...encryption }
  const { body } = await admin.post(`${ROOT}/types/${id}/encryption`, { encryption: full })
  return { id, encryption: body['encryption'] }
}

const show = (id: string) => showStored(demo, 'volume', id)
const volume = (fields: object = {}) =>
  makeStored(demo, 'volume', { size: 1, volume_type: 'sealed', ...fields })
const removed = (id: string) => removeStored(demo, 'volume', id)

async function onVolume(id: string, action: object): Promise<string> {
  const { status, body } = await demo.post(`${ROOT}/volumes/${id}/action`, action)
  if (status === 202) return '202'
  return `${status} ${(Object.values(body)[0] as { readonly message: string }).message}`
}

async function keys(): Promise<readonly { volume_id: string; server_id: string | null }[]> {
  const url = cloud.cells[0]!.databaseUrl
  await using db = new Database({ url, connectionsMax: 1 })
  const [rows] = await db.orm.execute('select volume_id, server_id, sealed from volume_keys')
  for (const { sealed } of rows as unknown as { sealed: string }[])
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+$/)
  return rows as unknown as { volume_id: string; server_id: string | null }[]
}

test('a project sees how its volumes are encrypted, and not those of others', async () => {
  const [sealed, plain] = [await volume(), await volume({ volume_type: 'plain' })]
  const encryptionOf = async (id: string) =>
    (await demo.get(`${ROOT}/volumes/${id}/encryption`)).body

  expect(await encryptionOf(sealed)).toEqual({
    ...{ encryption_key_id: null, provider: 'luks', control_location: 'front-end' },
    ...{ cipher: null, key_size: 128 },
  })
  expect(await encryptionOf(plain)).toEqual({ encryption_key_id: null })
  const own = await makeStored(admin, 'volume', { size: 1, volume_type: 'sealed' })
  expect((await demo.get(`${ROOT}/volumes/${own}/encryption`)).status).toBe(404)
  await removeStored(admin, 'volume', own)
  for (const id of [sealed, plain]) await removed(id)
})

test('a server gets an encrypted volume, and has it through every act', async () => {
  const id = await volume()
  expect(await show(id)).toMatchObject({ encrypted: true, volume_type: 'sealed' })
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef, ...rest } = server
  const root = {
    ...{ source_type: 'image', uuid: imageRef, destination_type: 'volume', boot_index: 0 },
    ...{ volume_size: 1, delete_on_termination: true, volume_type: 'sealed' },
  }
  const asked = { server: { ...rest, block_device_mapping_v2: [root] } }
  const made = await demo.post<{ server: { id: string } }>(SERVERS, asked, { version: '2.67' })
  const serverId = made.body.server.id
  await untilStatus(demo, serverId, 'ACTIVE')
  const attachments = `${SERVERS}/${serverId}/os-volume_attachments`
  const attached = await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  expect(attached.status).toBe(200)
  await untilStored(demo, 'volume', id, 'in-use')
  expect((await keys()).map(({ server_id }) => server_id)).toEqual([serverId, serverId])

  const does = async (client: ApiClient, action: Record<string, unknown>, status: string) => {
    expect((await act(client, serverId, action)).status).toBe(202)
    await untilStatus(demo, serverId, status)
  }
  await does(demo, { 'os-stop': null }, 'SHUTOFF')
  await does(demo, { 'os-start': null }, 'ACTIVE')
  await does(demo, { reboot: { type: 'HARD' } }, 'HARD_REBOOT')
  await untilStatus(demo, serverId, 'ACTIVE')
  await does(demo, { suspend: null }, 'SUSPENDED')
  await does(demo, { resume: null }, 'ACTIVE')
  const hostOf = async () => {
    const { body } = await admin.get(`${SERVERS}/${serverId}`)
    return (body['server'] as Record<string, unknown>)['OS-EXT-SRV-ATTR:host']
  }
  const former = await hostOf()
  const live = { host: null, block_migration: false, disk_over_commit: false }
  expect((await act(admin, serverId, { 'os-migrateLive': live })).status).toBe(202)
  await expect.poll(hostOf, poll).not.toBe(former)
  await untilStatus(demo, serverId, 'ACTIVE')
  await does(admin, { migrate: null }, 'VERIFY_RESIZE')
  await does(demo, { revertResize: null }, 'ACTIVE')
  await does(demo, { shelve: null }, 'SHELVED_OFFLOADED')
  await does(demo, { unshelve: null }, 'ACTIVE')

  const snapshot = await makeStored(demo, 'snapshot', { volume_id: id, force: true })
  const copy = await volume({ snapshot_id: snapshot, volume_type: undefined })
  expect(await show(copy)).toMatchObject({ encrypted: true, volume_type: 'sealed' })
  const { status } = await demo.delete(`${attachments}/${id}`)
  expect(status).toBe(202)
  await untilStored(demo, 'volume', id, 'available')
  await deleteServer(demo, serverId)
  await removeStored(demo, 'snapshot', snapshot)
  for (const each of [copy, id]) await removed(each)
  await expect.poll(keys, poll).toEqual([])
}, 120_000)

test('its content becomes no image, and gets no other encryption in its store, except that of a volume made from it', async () => {
  const id = await volume()
  const plain = await volume({ volume_type: 'plain' })
  for (const [encrypted, found] of [
    ['True', id],
    ['False', plain],
  ])
    expect(
      (await demo.get(`${ROOT}/volumes?encrypted=${encrypted}`)).body['volumes'],
    ).toMatchObject([{ id: found }])
  await type('longer', {})

  const upload = { 'os-volume_upload_image': { image_name: 'leak' } }
  const loud = await demo.post(`${ROOT}/volumes/${id}/action`, upload)
  expect([loud.status, JSON.stringify(loud.body)]).toEqual([
    400,
    expect.stringContaining(`Volume ${id} is encrypted, and its key stays with it`),
  ])
  for (const [each, new_type] of [
    [id, 'plain'],
    [id, 'longer'],
    [plain, 'sealed'],
  ] as const)
    expect(await onVolume(each, { 'os-retype': { new_type } })).toBe(
      `400 Invalid volume: Retype requires migration but is not allowed. The type ${new_type} encrypts volumes otherwise than volume ${each} is, and that changes on the way to another store. Repeat the request with the migration policy on-demand.`,
    )
  const opened = await volume({ source_volid: id, volume_type: 'plain' })
  const closed = await volume({ source_volid: plain, volume_type: 'longer' })
  expect([await show(opened), await show(closed)]).toMatchObject([
    { encrypted: false },
    { encrypted: true, volume_type: 'longer' },
  ])
  expect(await onVolume(id, { 'os-extend': { new_size: 2 } })).toBe('202')
  await untilStored(demo, 'volume', id, 'available')
  for (const each of [id, plain, opened, closed]) await removed(each)
})

test('it is transferred since 3.70, as in Cinder', async () => {
  const id = await volume()
  const body = { transfer: { volume_id: id } }

  const before = await demo.post(`${ROOT}/volume-transfers`, body, { version: '3.55' })
  expect([before.status, JSON.stringify(before.body)]).toEqual([
    400,
    expect.stringContaining('transferring encrypted volume is not supported'),
  ])
  const since = await demo.post(`${ROOT}/volume-transfers`, body, { version: '3.70' })
  expect(since.status).toBe(202)

  const { id: transfer } = since.body['transfer'] as StoredBody
  await demo.delete(`${ROOT}/volume-transfers/${transfer}`, { version: '3.70' })
  await untilStored(demo, 'volume', id, 'available')
  await removed(id)
})

test('several servers cannot use one, and a type cannot promise both', async () => {
  const multiattach = '<is> True'
  const shared = await type('shared-first', undefined, { multiattach })
  const encryption = { provider: 'luks', control_location: 'front-end' }
  const refused = await admin.post(`${ROOT}/types/${shared.id}/encryption`, { encryption })
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('an encrypted volume is used by one'),
  ])

  await type('shared-later', {}).then(({ id }) =>
    admin.post(`${ROOT}/types/${id}/extra_specs`, { extra_specs: { multiattach } }),
  )
  const { status, body } = await demo.post(`${ROOT}/volumes`, {
    volume: { size: 1, volume_type: 'shared-later' },
  })
  expect([status, JSON.stringify(body)]).toEqual([
    400,
    expect.stringContaining('are encrypted, so several servers cannot use one at once'),
  ])
})

test('a type that a volume has keeps its encryption', async () => {
  const id = await volume()
  const { body } = await demo.get(`${ROOT}/volumes/${id}`, { version: '3.63' })
  const { volume_type_id } = body['volume'] as { readonly volume_type_id: string }
  const path = `${ROOT}/types/${volume_type_id}/encryption`
  const { encryption_id } = (await admin.get(path)).body as { encryption_id: string }

  const changed = await admin.put(`${path}/${encryption_id}`, { encryption: { key_size: 256 } })
  const deleted = await admin.delete(`${path}/${encryption_id}`)
  for (const [{ status, body: fault }, verb] of [
    [changed, 'update'],
    [deleted, 'delete'],
  ] as const)
    expect([status, JSON.stringify(fault)]).toEqual([
      400,
      expect.stringContaining(`Cannot ${verb} encryption specs. Volume type in use.`),
    ])

  await removed(id)
})
