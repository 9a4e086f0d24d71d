import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, SERVERS, showServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: one server at a time holds a volume, it is free again when that server lets go of it or is gone, and no request ends halfway.

interface VolumeBody {
  readonly id: string
  readonly size: number
  readonly status: string
  readonly availability_zone: string
  readonly attachments: readonly { readonly server_id: string; readonly device: string | null }[]
}

const VOLUMES = '/volume/v3/volumes'
const LIMIT_MS = 30_000

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

async function show(id: string): Promise<VolumeBody | undefined> {
  const { status, body } = await demo.get(`${VOLUMES}/${id}`)
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

/** The hosts of a cell share a store, so its zone is enough. */
async function volumeIn(zone: string, fields: object = {}): Promise<string> {
  const made = await demo.post(VOLUMES, { volume: { size: 1, availability_zone: zone, ...fields } })
  const { id } = made.body['volume'] as VolumeBody
  await untilStatus(id, 'available')
  return id
}

async function placedServer(name: string, zone?: string) {
  const where = zone === undefined ? {} : { availability_zone: zone }
  const { id } = await activeServer(cloud, demo, { name, ...where })
  const seen = await showServer(cloud.as('admin'), id)
  return {
    id,
    zone: String(seen['OS-EXT-AZ:availability_zone']),
  }
}

const attachmentsOf = (id: string) => `${SERVERS}/${id}/os-volume_attachments`

test('a volume is attached, shown on both sides, and detached', async () => {
  const server = await placedServer('holder')
  const id = await volumeIn(server.zone)

  const attached = await demo.post(
    attachmentsOf(server.id),
    { volumeAttachment: { volumeId: id, tag: 'data' } },
    { version: '2.79' },
  )

  expect(attached.status).toBe(200)
  expect(attached.body['volumeAttachment']).toMatchObject({
    id,
    volumeId: id,
    serverId: server.id,
    device: '/dev/vdb',
    tag: 'data',
    delete_on_termination: false,
  })
  expect(await show(id)).toMatchObject({
    status: 'in-use',
    attachments: [{ server_id: server.id, device: '/dev/vdb' }],
  })
  const shown = await showServer(demo, server.id)
  expect(shown['os-extended-volumes:volumes_attached']).toMatchObject([{ id }])
  await expectListed(id, server.id)
  const again = await demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } })
  expect(again.status).toBe(400)
  expect((await demo.delete(`${VOLUMES}/${id}`)).status).toBe(400)
  expect((await demo.delete(`${attachmentsOf(server.id)}/${id}`)).status).toBe(202)
  await untilStatus(id, 'available')
  const left = await demo.get(attachmentsOf(server.id))
  expect(left.body['volumeAttachments']).toEqual([])
  await demo.delete(`${VOLUMES}/${id}`)
  await deleteServer(demo, server.id)
})

/** The Block Storage API shows the attachment to its project, and to administrators. */
async function expectListed(volumeId: string, serverId: string): Promise<void> {
  const path = '/volume/v3/attachments'
  const version = '3.27'
  const expected = { status: 'attached', instance: serverId, volume_id: volumeId }
  const listed = async (who: ApiClient, query: string) =>
    (await who.get(`${path}?${query}`, { version })).body['attachments'] as readonly VolumeBody[]

  const [found, ...others] = await listed(demo, `volume_id=${volumeId}`)
  expect([found, others]).toEqual([{ id: found?.id, ...expected }, []])
  expect(await listed(demo, `instance_id=${newId()}`)).toEqual([])
  expect(await listed(cloud.as('admin'), '')).toEqual([])
  expect(await listed(cloud.as('admin'), 'all_tenants=true')).toContainEqual(found)
  const detail = await demo.get(`${path}/${found?.id}`, { version })
  expect(detail.body['attachment']).toMatchObject({
    ...found,
    attach_mode: 'rw',
    detached_at: null,
  })
  expect((await demo.get(`${path}/${newId()}`, { version })).status).toBe(404)
  expect((await demo.post(path, {}, { version })).status).toBe(501)
}

test('a volume goes with its server if that was asked for, and is free again otherwise', async () => {
  const server = await placedServer('owner')
  const [kept, doomed] = [await volumeIn(server.zone), await volumeIn(server.zone)]
  const attach = (volumeId: string, fields: object) =>
    demo.post(
      attachmentsOf(server.id),
      { volumeAttachment: { volumeId, ...fields } },
      { version: '2.101' },
    )

  expect((await attach(kept, { delete_on_termination: true })).status).toBe(202)
  expect((await attach(doomed, { delete_on_termination: true })).status).toBe(202)
  const path = `${attachmentsOf(server.id)}/${kept}`
  const change = { volumeId: kept, delete_on_termination: false }
  expect((await demo.put(path, { volumeAttachment: change }, { version: '2.85' })).status).toBe(202)
  const exchange = { volumeId: doomed }
  expect((await demo.put(path, { volumeAttachment: exchange })).status).toBe(403)
  await deleteServer(demo, server.id)

  await untilStatus(kept, 'available')
  await waitFor(`${doomed} is gone`, async () => (await show(doomed)) === undefined, LIMIT_MS)
  await demo.delete(`${VOLUMES}/${kept}`)
})

test('a volume is extended while its server uses it, from 3.42 on', async () => {
  const server = await placedServer('grower')
  const id = await volumeIn(server.zone)
  await demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } })
  await untilStatus(id, 'in-use')
  const extend = (size: number, version: '3.41' | '3.42') =>
    demo.post(`${VOLUMES}/${id}/action`, { 'os-extend': { new_size: size } }, { version })

  expect((await extend(3, '3.41')).status).toBe(400)
  expect((await extend(1, '3.42')).status).toBe(400)
  expect((await extend(3, '3.42')).status).toBe(202)

  const isGrown = async () => {
    const volume = await show(id)
    return volume?.status === 'in-use' && volume.size === 3
  }
  await waitFor('the volume has grown', isGrown, LIMIT_MS)
  expect(await show(id)).toMatchObject({ attachments: [{ server_id: server.id }] })
  await deleteServer(demo, server.id)
  await untilStatus(id, 'available')
  await demo.delete(`${VOLUMES}/${id}`)
})

test('a volume of another cell, of another project, or of none is refused, and nothing is held', async () => {
  const server = await placedServer('lonely', 'north')
  const far = await volumeIn('south')
  const attach = (volumeId: string, who = demo) =>
    who.post(attachmentsOf(server.id), { volumeAttachment: { volumeId } })

  const elsewhere = await attach(far)
  const unknown = await attach(newId())
  const detached = await demo.delete(`${attachmentsOf(server.id)}/${far}`)

  expect([elsewhere.status, unknown.status, detached.status]).toEqual([400, 404, 404])
  expect(JSON.stringify(elsewhere.body)).toContain('across cells')
  expect(await show(far)).toMatchObject({ status: 'available', attachments: [] })
  await demo.delete(`${VOLUMES}/${far}`)
  await deleteServer(demo, server.id)
})

test('a host that cannot attach leaves the volume free, and the server as it was', async () => {
  const server = await placedServer('unlucky', 'north')
  const id = await volumeIn('north')
  const effect = { do: 'fail', kind: 'conflict', message: 'The controller is full.' } as const
  for (const host of cloud.cell('north').computes)
    host.fail({ method: 'attachVolume', times: 1, effect })

  const refused = await demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } })

  for (const host of cloud.cell('north').computes) host.fail()
  expect(refused.status).toBe(409)
  expect(await show(id)).toMatchObject({ status: 'available', attachments: [] })
  expect(await showServer(demo, server.id)).toMatchObject({ status: 'ACTIVE' })
  const again = await demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } })
  expect(again.status).toBe(200)
  await deleteServer(demo, server.id)
  await untilStatus(id, 'available')
  await demo.delete(`${VOLUMES}/${id}`)
})

test('a multiattach volume is used by several servers, of clients that know of it', async () => {
  const one = await placedServer('one')
  const two = await placedServer('two', one.zone)
  const extra_specs = { multiattach: '<is> True' }
  const volume_type = { name: 'shared', extra_specs }
  expect((await cloud.as('admin').post('/volume/v3/types', { volume_type })).status).toBe(200)
  const id = await volumeIn(one.zone, { volume_type: 'shared' })
  const attach = (server: string, version: '2.59' | '2.60', fields = {}) =>
    demo.post(attachmentsOf(server), { volumeAttachment: { volumeId: id, ...fields } }, { version })
  const holders = async () => (await show(id))?.attachments.map(({ server_id }) => server_id)

  const old = await attach(one.id, '2.59')
  expect([old.status, JSON.stringify(old.body)]).toEqual([
    400,
    expect.stringContaining('starting with compute API version 2.60'),
  ])
  for (const { id: server } of [one, two]) expect((await attach(server, '2.60')).status).toBe(200)
  expect((await holders())?.toSorted()).toEqual([one.id, two.id].toSorted())
  const again = await attach(one.id, '2.60')
  expect([again.status, JSON.stringify(again.body)]).toEqual([
    400,
    expect.stringContaining(`volume ${id} already attached`),
  ])
  const extend = { 'os-extend': { new_size: 2 } }
  const refused = await demo.post(`${VOLUMES}/${id}/action`, extend, { version: '3.42' })
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('used by several servers'),
  ])

  expect((await demo.delete(`${attachmentsOf(one.id)}/${id}`)).status).toBe(202)
  await waitFor('one holder', async () => (await holders())?.length === 1, LIMIT_MS)
  expect(await show(id)).toMatchObject({ status: 'in-use' })
  await deleteServer(demo, two.id)
  await untilStatus(id, 'available')
  await demo.delete(`${VOLUMES}/${id}`)
  await deleteServer(demo, one.id)
})

test('a multiattach volume that is to go with one of its servers stays while another uses it', async () => {
  const stays = await placedServer('stays')
  const goes = await placedServer('goes', stays.zone)
  const id = await volumeIn(stays.zone, { volume_type: 'shared' })
  for (const { id: server } of [stays, goes]) {
    const delete_on_termination = server === goes.id
    const volumeAttachment = { volumeId: id, delete_on_termination }
    await demo.post(attachmentsOf(server), { volumeAttachment }, { version: '2.79' })
  }

  await deleteServer(demo, goes.id)

  expect(await show(id)).toMatchObject({
    status: 'in-use',
    attachments: [{ server_id: stays.id }],
  })
  await deleteServer(demo, stays.id)
  await untilStatus(id, 'available')
  await demo.delete(`${VOLUMES}/${id}`)
})

test('one of many that want a volume at once gets it', async () => {
  const servers = await Promise.all(['a', 'b', 'c'].map((name) => placedServer(name, 'north')))
  const id = await volumeIn('north')

  const answers = await Promise.all(
    servers.map((server) =>
      demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } }),
    ),
  )

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400])
  expect((await show(id))?.attachments).toHaveLength(1)
  await Promise.all(servers.map((server) => deleteServer(demo, server.id)))
  await untilStatus(id, 'available')
  await demo.delete(`${VOLUMES}/${id}`)
  await waitFor(`${id} is gone`, async () => (await show(id)) === undefined, LIMIT_MS)
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})

test('a read-only volume says so, and servers get it without the right to write', async () => {
  const server = await placedServer('reader')
  const id = await volumeIn(server.zone, { metadata: { purpose: 'archive' } })
  const set = (readonly: unknown) =>
    demo.post(`${VOLUMES}/${id}/action`, { 'os-update_readonly_flag': { readonly } })
  const metadata = async () => ((await show(id)) as { metadata?: object } | undefined)?.metadata
  const host = String((await showServer(cloud.as('admin'), server.id))['OS-EXT-SRV-ATTR:host'])
  const on = cloud.hosts.find(({ name }) => name === host)!

  expect((await set('neither')).status).toBe(400)
  expect((await set(true)).status).toBe(202)
  expect(await metadata()).toEqual({ purpose: 'archive', readonly: 'True' })
  const attached = await demo.post(attachmentsOf(server.id), { volumeAttachment: { volumeId: id } })
  expect(attached.status).toBe(200)
  await untilStatus(id, 'in-use')

  expect(on.volumesOf(server.id)).toMatchObject([{ id, isReadOnly: true }])
  const refused = await set(false)
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining(
      'must be available to update readonly flag, but current status is: in-use',
    ),
  ])
  await deleteServer(demo, server.id)
  await untilStatus(id, 'available')
  expect((await set(false)).status).toBe(202)
  expect(await metadata()).toEqual({ purpose: 'archive', readonly: 'False' })
  await demo.delete(`${VOLUMES}/${id}`)
})

test('an administrator gives a volume no status that its attachments deny, so that no second server gets it', async () => {
  const admin = cloud.as('admin')
  const reset = async (volume: string, status: string) => {
    const answer = await admin.post(`${VOLUMES}/${volume}/action`, {
      'os-reset_status': { status },
    })
    const [fault] = Object.values(answer.body ?? {}) as readonly { readonly message: string }[]
    return fault === undefined ? `${answer.status}` : `${answer.status} ${fault.message}`
  }
  const { id, zone } = await placedServer('holder')
  const other = await placedServer('second', zone)
  const volume = await volumeIn(zone)
  expect(await reset(volume, 'in-use')).toBe(
    '400 Cannot reset-state to in-use because volume does not have any attachments.',
  )
  for (const status of ['maintenance', 'error_deleting', 'available']) {
    expect(await reset(volume, status)).toBe('202')
    expect((await show(volume))?.status).toBe(status)
  }
  const volumeAttachment = { volumeId: volume }
  expect((await demo.post(attachmentsOf(id), { volumeAttachment })).status).toBe(200)
  await untilStatus(volume, 'in-use')

  expect(await reset(volume, 'available')).toContain(`400 Volume ${volume} cannot be reset`)
  for (const status of ['error', 'maintenance', 'in-use']) {
    expect(await reset(volume, status)).toBe('202')
    expect((await show(volume))?.status).toBe(status)
    expect((await demo.post(attachmentsOf(other.id), { volumeAttachment })).status).toBe(400)
  }

  await demo.delete(`${attachmentsOf(id)}/${volume}`)
  await untilStatus(volume, 'available')
  for (const each of [id, other.id]) await deleteServer(demo, each)
  await expectInvariants(cloud)
})
