import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation, showOperation } from '#test/env/api/operations.ts'
import {
  act,
  activeServer,
  deleteServer,
  SERVERS,
  showServer,
  unboundServer,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: the servers of a lost cell run in other cells again, from the newest that is known of them, or it is said why not.

interface Forecast {
  readonly assumes_loss: boolean
  readonly servers: readonly object[]
}
interface Image {
  readonly id: string
  readonly status: string
}

interface Stored {
  readonly volume: { readonly id: string; readonly status: string }
}

const NORTH = '/federation/v1/cells/north'
const SOUTH = '/federation/v1/cells/south'
/** Of a server that cannot be built. */
const NOT_BUILT = { cell: null, source: null, image_id: null }
const IMAGES = '/image/v2/images'

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud({ processesPerCell: 1, hostsPerCell: 1 })
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})
afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const waitFor = <T>(what: string, probe: () => Promise<T>) => waitForWithin(what, probe, 60_000)
const shown = (id: string) => showOperation(admin, id)
const ended = (id: string) => endOfOperation(admin, id)
const northern = async (name: string) => (await unboundServer(cloud, demo, 'north', { name })).id

const containing = (fields: object) => expect.objectContaining(fields) as unknown

/** What a recovery of the cell would do now. */
async function forecast(assumes_loss: boolean): Promise<Forecast> {
  const { body } = await admin.get<Forecast>(`${NORTH}/recovery`)
  expect(body).toMatchObject({ assumes_loss })
  return body
}

async function saved(id: string, name: string): Promise<string> {
  const { status, body } = await act(demo, id, { createImage: { name } }, { version: '2.45' })
  expect(status).toBe(202)
  const imageId = String(body['image_id'])
  await waitFor(`image ${name}`, async () => {
    return (await demo.get<Image>(`${IMAGES}/${imageId}`)).body.status === 'active'
  })
  await untilSettled(cloud, id)
  return imageId
}

async function startedFromVolume(name: string): Promise<{ id: string; volume: string }> {
  const where = { size: 1, imageRef: cloud.catalog.image, availability_zone: 'north' }
  const { body } = await demo.post<Stored>('/volume/v3/volumes', { volume: where })
  const { id: uuid } = body.volume
  const volume = `/volume/v3/volumes/${uuid}`
  await waitFor('the volume', async () => {
    return (await demo.get<Stored>(volume)).body.volume.status === 'available'
  })
  const disk = { uuid, source_type: 'volume', destination_type: 'volume', boot_index: 0 }
  const { id } = await unboundServer(cloud, demo, 'north', {
    ...{ name, imageRef: '', block_device_mapping_v2: [disk] },
  })
  return { id, volume }
}

async function uploaded(name: string): Promise<string> {
  const { body: tiny } = await demo.get<Record<string, unknown>>(`${IMAGES}/${cloud.catalog.image}`)
  const { disk_format, container_format, hypervisor_type } = tiny
  const fields = { name, disk_format, container_format, hypervisor_type }
  const { body } = await demo.post<Image>(IMAGES, fields)
  const headers = { 'content-type': 'application/octet-stream' }
  await demo.put(`${IMAGES}/${body.id}/file`, undefined, { raw: Buffer.alloc(1024), headers })
  return body.id
}

async function loseNorth(): Promise<void> {
  const { processes, computes } = cloud.cell('north')
  for (const process of [...processes, ...computes.map((host) => host.process)])
    await process.kill()
  await waitFor('the cell to be unreachable', async () => {
    return (await admin.get<{ is_alive: boolean }>(NORTH)).body.is_alive === false
  })
  const { status } = await admin.post(`${NORTH}/lost`, { statement: 'Its power was cut.' })
  expect(status).toBe(202)
}

test('the servers of a lost cell run in another one, built from their newest snapshots or their images', async () => {
  expect((await admin.post(`${NORTH}/recovery`, {})).status).toBe(409)
  const gone = await uploaded('gone')
  const hopeless = await activeServer(cloud, demo, {
    name: 'hopeless',
    availability_zone: 'north',
    imageRef: gone,
  })
  const plain = await northern('plain')
  const nic = { interfaceAttachment: { net_id: cloud.catalog.network } }
  expect((await demo.post(`${SERVERS}/${plain}/os-interface`, nic)).status).toBe(200)
  const kept = await northern('kept')
  await saved(kept, 'older')
  const newest = await saved(kept, 'newest')
  const before = await showServer(demo, kept)
  const rebuilt = await northern('rebuilt')
  await saved(rebuilt, 'before its rebuild')
  await act(demo, rebuilt, { rebuild: { imageRef: cloud.catalog.image } })
  await untilSettled(cloud, rebuilt)
  const rooted = await startedFromVolume('rooted')
  await demo.delete(`${IMAGES}/${gone}`)
  const to = { cell: 'south', reason: null }
  const expected = [
    { server_id: plain, ...to, source: 'image', image_id: cloud.catalog.image },
    { server_id: kept, ...to, source: 'snapshot', image_id: newest },
    { server_id: rebuilt, ...to, source: 'image', image_id: cloud.catalog.image },
    { server_id: hopeless.id, ...NOT_BUILT, reason: expect.stringContaining('is gone') },
    {
      ...{ server_id: rooted.id, ...NOT_BUILT },
      reason: 'It starts from a volume, which is lost with the cell.',
    },
  ]
  const { servers: assumed } = await forecast(true)
  expect(assumed).toHaveLength(expected.length)
  expect(assumed).toEqual(expect.arrayContaining(expected.map((each) => containing(each))))

  await loseNorth()
  for (const id of [plain, kept, rebuilt, hopeless.id, rooted.id])
    await waitFor('it to be taken from the cell', async () => {
      return (await showServer(demo, id)).status === 'ERROR'
    })
  await waitFor('its volume to be lost', async () => {
    return (await demo.get<Stored>(rooted.volume)).body.volume.status === 'error'
  })

  const { servers } = await forecast(false)
  expect(servers).toHaveLength(expected.length)
  expect(servers).toEqual(expect.arrayContaining(expected.map((each) => containing(each))))
  const { out } = await new WeirCommand(cloud, 'admin').run('cell recover north --dry-run')
  expect(out).toMatch(/^plain +south +image /m)
  await admin.call('PATCH', SOUTH, { is_enabled: false })
  expect((await forecast(false)).servers).toContainEqual(
    containing({ server_id: plain, cell: null, reason: expect.stringContaining('EnabledFilter') }),
  )
  await admin.call('PATCH', SOUTH, { is_enabled: true })
  for (const id of [rooted.id, rebuilt]) await deleteServer(demo, id)
  expect((await demo.get(`${NORTH}/recovery`)).status).toBe(403)

  // Cancelled, it builds what it has begun, and nothing else.
  const [south] = cloud.cell('south').computes
  south!.fail({ method: 'spawn', effect: { do: 'hang' } })
  const { status, body: first } = await admin.post<Operation>(`${NORTH}/recovery`, { parallel: 1 })
  expect(status).toBe(202)
  expect((await admin.post<Operation>(`${NORTH}/recovery`, {})).body.id).toBe(first.id)
  await waitFor('one to be built', async () => (await showServer(demo, plain)).status === 'BUILD')
  expect((await shown(first.id)).servers).toContain(kept)
  await admin.post(`/federation/v1/operations/${first.id}/cancel`)
  south!.fail()
  await untilStatus(demo, plain, 'ACTIVE')
  expect(await shown(first.id)).toMatchObject({ state: 'cancelled' })
  expect(await showServer(demo, kept)).toMatchObject({ status: 'ERROR' })

  const { body: begun } = await admin.post<Operation>(`${NORTH}/recovery`, {})
  const operation = await ended(begun.id)

  expect(operation).toMatchObject({ state: 'failed', remaining: 1 })
  expect(operation.message).toContain('1 server is left. hopeless cannot be built: Its image')
  const moves = new Map(operation.moves!.map((move) => [move.server_id, [move.state, move.method]]))
  expect(moves).toEqual(
    new Map<string, unknown>([
      [kept, ['moved', 'snapshot']],
      [hopeless.id, ['waiting', null]],
    ]),
  )
  const after = await untilStatus(demo, kept, 'ACTIVE')
  for (const field of ['name', 'addresses', 'metadata', 'created'])
    expect(after[field], field).toEqual(before[field])
  expect(after).toMatchObject({ image: { id: cloud.catalog.image } })
  const { output } = (await act(demo, kept, { 'os-getConsoleOutput': {} })).body
  expect(output).toContain('from image newest')
  expect((await south!.guests()).toSorted()).toEqual([plain, kept].toSorted())

  const { nic_details } = (
    await admin.get<{ nic_details: object[] }>(`${SERVERS}/${plain}/diagnostics`, {
      version: '2.48',
    })
  ).body
  expect(nic_details).toHaveLength(2)

  // What is left can be deleted, and then the cell has nothing left to recover.
  await demo.delete(`${SERVERS}/${hopeless.id}`)
  for (const id of [plain, kept]) await deleteServer(demo, id)
  const { body: again } = await admin.post<Operation>(`${NORTH}/recovery`, {})
  expect(await ended(again.id)).toMatchObject({ state: 'done', remaining: 0 })
}, 200_000)
