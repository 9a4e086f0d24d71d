import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  activeServer,
  deleteServer,
  SERVERS,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: a snapshot keeps what its volume had, counts against the quota, and is what other volumes and servers start from.

interface Body {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}
type Kind = 'volume' | 'snapshot'

const ROOT = '/volume/v3'
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

async function show(kind: Kind, id: string): Promise<Body | undefined> {
  const { status, body } = await demo.get(`${ROOT}/${kind}s/${id}`)
  return status === 404 ? undefined : (body[kind] as Body)
}

const until = (kind: Kind, id: string, wanted: string) =>
  waitFor(
    `${kind} ${id} is ${wanted}`,
    async () => {
      const found = await show(kind, id)
      return found?.status === wanted ? found : undefined
    },
    LIMIT_MS,
  )

async function gone(kind: Kind, id: string): Promise<void> {
  await waitFor(`${kind} ${id} is gone`, async () => (await show(kind, id)) === undefined, LIMIT_MS)
}

async function volume(fields: object = {}): Promise<string> {
  const { body } = await demo.post(`${ROOT}/volumes`, { volume: { size: 1, ...fields } })
  const { id } = body['volume'] as Body
  await until('volume', id, 'available')
  return id
}

const asked = (fields: object, version?: '3.66') =>
  demo.post(`${ROOT}/snapshots`, { snapshot: fields }, version === undefined ? {} : { version })

async function snapshot(volumeId: string, fields: object = {}): Promise<string> {
  const { status, body } = await asked({ volume_id: volumeId, ...fields })
  expect(status).toBe(202)
  const { id } = body['snapshot'] as Body
  await until('snapshot', id, 'available')
  return id
}

async function removed(kind: Kind, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect((await demo.delete(`${ROOT}/${kind}s/${id}`)).status).toBe(202)
    await gone(kind, id)
  }
}

test('a snapshot is made, shown, changed, listed and deleted', async () => {
  const volumeId = await volume({ size: 2 })
  const named = { name: 'first', description: 'before the upgrade', metadata: { a: '1' } }
  const id = await snapshot(volumeId, named)
  const other = await snapshot(volumeId)

  expect(await show('snapshot', id)).toMatchObject({ ...named, volume_id: volumeId, size: 2 })
  const path = `${ROOT}/snapshots/${id}`
  const put = await demo.put(path, { snapshot: { name: 'renamed' } })
  expect(put.body).toMatchObject({ snapshot: { name: 'renamed', description: named.description } })
  await demo.post(`${path}/metadata`, { metadata: { b: '2' } })
  await demo.put(`${path}/metadata/a`, { meta: { a: '3' } })
  expect((await demo.get(`${path}/metadata`)).body).toEqual({ metadata: { a: '3', b: '2' } })
  expect((await demo.delete(`${path}/metadata/a`)).status).toBe(200)
  expect((await demo.get(`${path}/metadata/a`)).status).toBe(404)

  const list = async (query: string) => {
    const { body } = await demo.get(`${ROOT}/snapshots/detail?${query}`, { version: '3.45' })
    return (body['snapshots'] as readonly Body[]).map((each) => each.id)
  }
  expect(await list(`volume_id=${volumeId}`)).toEqual([other, id])
  expect(await list('name=renamed')).toEqual([id])
  expect(await list(`metadata=${encodeURIComponent("{'b': '2'}")}`)).toEqual([id])
  expect(await list(`limit=1&marker=${other}`)).toEqual([id])
  expect(await list('status=error')).toEqual([])

  await removed('snapshot', id, other)
  await removed('volume', volumeId)
})

test('a volume is made from a snapshot, like the volume that it is of', async () => {
  const source = await volume({ size: 2, availability_zone: 'south' })
  await demo.post(`${ROOT}/volumes/${source}/action`, { 'os-set_bootable': { bootable: true } })
  const id = await snapshot(source)

  const copy = await volume({ snapshot_id: id, size: null })
  const larger = await volume({ snapshot_id: id, size: 3 })

  const like = { snapshot_id: id, availability_zone: 'south', bootable: 'true' }
  expect(await show('volume', copy)).toMatchObject({ size: 2, ...like })
  expect(await show('volume', larger)).toMatchObject({ size: 3, ...like })
  await removed('snapshot', id)
  await removed('volume', copy, larger, source)
})

test('a volume stays while it has snapshots, unless they are to go with it', async () => {
  const volumeId = await volume()
  const ids = [await snapshot(volumeId), await snapshot(volumeId)]

  const refused = await demo.delete(`${ROOT}/volumes/${volumeId}`)
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain('have snapshots')
  const forced = await admin.post(`${ROOT}/volumes/${volumeId}/action`, { 'os-force_delete': {} })
  expect(forced.status).toBe(400)
  expect(await show('volume', volumeId)).toMatchObject({ status: 'available' })

  expect((await demo.delete(`${ROOT}/volumes/${volumeId}?cascade=true`)).status).toBe(202)
  for (const id of ids) await gone('snapshot', id)
  await gone('volume', volumeId)
})

test('a volume that a server uses needs force before 3.66, and keeps its snapshots when the server goes', async () => {
  const server = await activeServer(cloud, demo, { name: 'user', availability_zone: 'north' })
  const volumeId = await volume({ availability_zone: 'north' })
  const attachment = { volumeId, delete_on_termination: true }
  const path = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(path, { volumeAttachment: attachment }, { version: '2.79' })
  await until('volume', volumeId, 'in-use')
  const of = { volume_id: volumeId }

  const plain = await asked(of)
  expect(plain.status).toBe(400)
  expect(JSON.stringify(plain.body)).toContain('must be available, but current status is: in-use')
  expect((await asked({ ...of, force: false }, '3.66')).status).toBe(400)
  const forced = await snapshot(volumeId, { force: 'true' })
  const { status, body } = await asked(of, '3.66')
  expect(status).toBe(202)
  const later = (body['snapshot'] as Body).id
  await until('snapshot', later, 'available')

  await deleteServer(demo, server.id)
  await until('volume', volumeId, 'available')
  await removed('snapshot', forced, later)
  await removed('volume', volumeId)
})

test('a server starts from a snapshot', async () => {
  const imageRef = cloud.catalog.image
  const root = await volume({ imageRef, availability_zone: 'north' })
  const id = await snapshot(root)
  const { server } = smallServer(cloud) as { server: Record<string, unknown> }
  const { imageRef: _, ...rest } = server
  const disk = { source_type: 'snapshot', destination_type: 'volume', uuid: id, boot_index: 0 }
  const boot = (block_device_mapping_v2: readonly object[]) =>
    demo.post<{ server: { id: string } }>(SERVERS, { server: { ...rest, block_device_mapping_v2 } })

  const { status, body } = await boot([disk])
  expect(status).toBe(202)
  await untilStatus(demo, body.server.id, 'ACTIVE')
  const { body: listed } = await demo.get(`${ROOT}/volumes/detail`)
  const made = (listed['volumes'] as readonly Body[]).find((each) => each['snapshot_id'] === id)
  expect(made).toMatchObject({ size: 1, status: 'in-use', bootable: 'true' })
  expect((await boot([{ ...disk, uuid: newId() }])).status).toBe(400)

  await deleteServer(demo, body.server.id)
  await until('volume', made!.id, 'available')
  await removed('snapshot', id)
  await removed('volume', root, made!.id)
})

test('bad requests are refused in the words of Cinder, and keep nothing', async () => {
  const volumeId = await volume({ size: 2 })
  const id = await snapshot(volumeId)
  const foreign = await admin.post(`${ROOT}/volumes`, { volume: { size: 1 } })
  const foreignId = (foreign.body['volume'] as Body).id

  const answers = [
    await asked({ volume_id: newId() }),
    await asked({ volume_id: foreignId }),
    await demo.post(`${ROOT}/volumes`, { volume: { size: 1, snapshot_id: id } }),
    await demo.post(`${ROOT}/volumes`, { volume: { size: 2, snapshot_id: newId() } }),
    await demo.post(`${ROOT}/volumes`, {
      volume: { size: 2, snapshot_id: id, source_volid: volumeId },
    }),
    await demo.get(`${ROOT}/snapshots?sort=color:asc`),
    await demo.post(`${ROOT}/snapshots/${id}/action`, { 'os-force_delete': {} }),
  ]

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 400, 404, 400, 400, 403])
  expect(JSON.stringify(answers[2]?.body)).toContain('cannot be smaller than the snapshot size 2GB')
  await admin.post(`${ROOT}/volumes/${foreignId}/action`, { 'os-force_delete': {} })
  await removed('snapshot', id)
  await removed('volume', volumeId)
})

test('the quota counts snapshots and their GiB, and no request passes it', async () => {
  const volumeId = await volume({ size: 2 })
  const used = async () => {
    const { body } = await demo.get(`${ROOT}/limits`)
    const { absolute } = body['limits'] as { absolute: Readonly<Record<string, number>> }
    return [absolute['totalSnapshotsUsed'], absolute['totalGigabytesUsed']]
  }
  const before = await used()

  const id = await snapshot(volumeId)
  const after = await used()
  expect(after).toEqual([before[0]! + 1, before[1]! + 2])
  const project = (await show('snapshot', id))!['os-extended-snapshot-attributes:project_id']
  const quota = `${ROOT}/os-quota-sets/${String(project)}`
  await admin.put(quota, { quota_set: { snapshots: after[0] } })
  const refused = await asked({ volume_id: volumeId })
  expect(refused.status).toBe(413)
  expect(JSON.stringify(refused.body)).toContain('Maximum number of snapshots allowed')
  await admin.delete(quota)
  await removed('snapshot', id)

  expect(await used()).toEqual(before)
  await removed('volume', volumeId)
})

test('an administrator resets the status of a snapshot, and its user deletes it', async () => {
  const volumeId = await volume()
  const id = await snapshot(volumeId)
  const action = { 'os-reset_status': { status: 'error' } }

  expect((await demo.post(`${ROOT}/snapshots/${id}/action`, action)).status).toBe(403)
  expect((await admin.post(`${ROOT}/snapshots/${id}/action`, action)).status).toBe(202)
  expect(await show('snapshot', id)).toMatchObject({ status: 'error' })

  await removed('snapshot', id)
  await removed('volume', volumeId)
})

test('a request that is repeated under its key makes one snapshot', async () => {
  const volumeId = await volume()
  const headers = { 'Idempotency-Key': newId<string>() }
  const ask = () =>
    demo.post(`${ROOT}/snapshots`, { snapshot: { volume_id: volumeId } }, { headers })
  const [first, again] = [await ask(), await ask()]
  const { id } = first.body['snapshot'] as Body

  expect((again.body['snapshot'] as Body).id).toBe(id)
  await until('snapshot', id, 'available')
  await removed('snapshot', id)
  await removed('volume', volumeId)
})

test('clients from before 2.36 reach snapshots through compute', async () => {
  const volumeId = await volume()
  const root = '/compute/v2.1/os-snapshots'
  const made = await demo.post(root, { snapshot: { volume_id: volumeId, display_name: 'old' } })
  const { id } = made.body['snapshot'] as Body
  await until('snapshot', id, 'available')

  expect((await demo.get(`${root}/${id}`)).body).toMatchObject({
    snapshot: { id, volumeId, displayName: 'old', status: 'available', size: 1 },
  })
  const { body } = await demo.get(`${root}/detail`)
  expect((body['snapshots'] as readonly Body[]).map((each) => each.id)).toEqual([id])
  expect((await demo.delete(`${root}/${id}`)).status).toBe(202)
  await gone('snapshot', id)
  await removed('volume', volumeId)
})
