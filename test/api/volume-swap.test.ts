import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  SERVERS,
  showServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import {
  BLOCK_STORAGE,
  makeStored,
  removeStored,
  showStored,
  untilStored,
} from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// Goal: an administrator gives a server another volume in the place of one; it has the one or the other, and never both or none.

const LIMIT_MS = 30_000
const ZONE = 'north'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  await storesReported(cloud)
  const volume_type = { name: 'shared', extra_specs: { multiattach: '<is> True' } }
  await admin.post(`${BLOCK_STORAGE}/types`, { volume_type })
})
afterEach(() => {
  for (const host of cloud.cell(ZONE).computes) host.fail()
})
afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const volume = (fields: object = {}) =>
  makeStored(demo, 'volume', { size: 1, availability_zone: ZONE, ...fields })
const attachmentsOf = (server: string) => `${SERVERS}/${server}/os-volume_attachments`
const listed = async (server: string) =>
  (await demo.get(attachmentsOf(server), { version: '2.89' })).body['volumeAttachments']
const statuses = async (...ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await showStored(demo, 'volume', id))?.status))

/** A server with a volume, and another volume. */
async function prepared(name: string) {
  const { id: server } = await activeServer(cloud, demo, { name, availability_zone: ZONE })
  const [from, to] = [await volume(), await volume()]
  const volumeAttachment = { volumeId: from, tag: 'data', delete_on_termination: true }
  await demo.post(attachmentsOf(server), { volumeAttachment }, { version: '2.79' })
  const swap = (volumeId: string, { as = admin, fields = {}, version = '2.85' as const } = {}) =>
    as.put(
      `${attachmentsOf(server)}/${from}`,
      { volumeAttachment: { volumeId, ...fields } },
      { version },
    )
  return { server, from, to, swap }
}

async function cleared(server: string, ...volumes: readonly string[]): Promise<void> {
  await deleteServer(demo, server)
  for (const id of volumes) {
    await untilStored(demo, 'volume', id, 'available')
    await removeStored(demo, 'volume', id)
  }
}

test('the server has the other volume under the same name, tag and attachment, and the first is free', async () => {
  const { server, from, to, swap } = await prepared('swapper')
  const [before] = (await listed(server)) as readonly [object]
  const quota = () => demo.get(`${BLOCK_STORAGE}/limits`)
  const { body: charged } = await quota()

  const { status } = await swap(to)

  expect(status).toBe(202)
  await untilStored(demo, 'volume', to, 'in-use')
  await untilStored(demo, 'volume', from, 'available')
  expect(await listed(server)).toEqual([{ ...before, volumeId: to }])
  expect(before).toMatchObject({ device: '/dev/vdb', tag: 'data', delete_on_termination: true })
  expect(await showServer(demo, server)).toMatchObject({
    status: 'ACTIVE',
    'os-extended-volumes:volumes_attached': [{ id: to }],
  })
  expect((await quota()).body).toEqual(charged)
  await expectAction(server, null, 'Success')
  await deleteServer(demo, server)
  const isGone = async () => (await showStored(demo, 'volume', to)) === undefined
  await waitFor('the volume to go with its server', isGone, LIMIT_MS)
  await removeStored(demo, 'volume', from)
})

async function expectAction(server: string, message: string | null, result: string): Promise<void> {
  const path = `${SERVERS}/${server}/os-instance-actions`
  const { body } = await admin.get(path)
  const actions = body['instanceActions'] as readonly { action: string; request_id: string }[]
  const found = actions.find(({ action }) => action === 'swap_volume')
  expect(found).toMatchObject({ message })
  const shown = await admin.get(`${path}/${found?.request_id}`, { version: '2.84' })
  const events = [{ event: 'compute_swap_volume', result, finish_time: expect.any(String) }]
  expect(shown.body['instanceAction']).toMatchObject({ message, events })
}

test('the volume that a server starts from is swapped for a larger one, while it is paused too', async () => {
  const [from, to] = [await volume({ imageRef: cloud.catalog.image }), await volume({ size: 2 })]
  const device = { uuid: from, source_type: 'volume', destination_type: 'volume', boot_index: 0 }
  const id = await createServer(cloud, demo, {
    ...{ name: 'rooted', imageRef: '', availability_zone: ZONE },
    block_device_mapping_v2: [device],
  })
  await untilStatus(demo, id, 'ACTIVE')
  await act(demo, id, { pause: null })
  await untilStatus(demo, id, 'PAUSED')
  const path = `${attachmentsOf(id)}/${from}`

  const { status } = await admin.put(path, { volumeAttachment: { volumeId: to } })

  expect(status).toBe(202)
  await untilStored(demo, 'volume', to, 'in-use')
  expect(await listed(id)).toMatchObject([{ volumeId: to, device: '/dev/vda' }])
  expect(await showServer(demo, id)).toMatchObject({ status: 'PAUSED' })
  await cleared(id, from, to)
})

test('members may not swap, and what cannot be swapped is refused as by Nova', async () => {
  const { server, from, to, swap } = await prepared('refuser')
  const small = await prepared('small')
  const two = await volume({ size: 2 })
  const shared = await volume({ volume_type: 'shared' })
  const far = await volume({ availability_zone: 'south' })
  const readOnly = await volume()
  const action = { 'os-update_readonly_flag': { readonly: true } }
  await demo.post(`${BLOCK_STORAGE}/volumes/${readOnly}/action`, action)
  const foreign = await makeStored(admin, 'volume', { size: 1, availability_zone: ZONE })
  const refusals = [
    [await swap(to, { as: demo }), 403, 'os-volumes-attachments:swap'],
    [await swap(from, { as: demo, version: '2.1' as never }), 403, 'os-volumes-attachments:swap'],
    [await swap(from, { version: '2.1' as never }), 400, 'must be detached in order to swap'],
    [await swap(small.from), 400, 'must be detached in order to swap'],
    [await swap(newId()), 400, 'could not be found'],
    [await swap(far), 400, 'across cells'],
    [await swap(shared), 400, 'only one is a multiattach volume'],
    [await swap(readOnly), 400, 'is read-only'],
    [await swap(foreign), 400, 'not in the same project'],
  ] as const
  for (const [{ status, body }, expected, words] of refusals)
    expect([status, JSON.stringify(body)]).toEqual([expected, expect.stringContaining(words)])

  expect((await small.swap(two)).status).toBe(202)
  await untilStored(demo, 'volume', two, 'in-use')
  const shrink = await admin.put(`${attachmentsOf(small.server)}/${two}`, {
    volumeAttachment: { volumeId: to },
  })
  expect([shrink.status, JSON.stringify(shrink.body)]).toEqual([
    400,
    expect.stringContaining('must be the same size or larger'),
  ])
  const absent = await admin.put(`${attachmentsOf(server)}/${to}`, {
    volumeAttachment: { volumeId: readOnly },
  })
  expect(absent.status).toBe(404)
  expect(await statuses(from, to)).toEqual(['in-use', 'available'])
  await act(demo, server, { 'os-stop': null })
  await untilStatus(demo, server, 'SHUTOFF')
  expect((await swap(to)).status).toBe(409)
  await removeStored(admin, 'volume', foreign)
  for (const id of [far, shared, readOnly]) await removeStored(demo, 'volume', id)
  await deleteServer(demo, small.server)
  await cleared(server, to, small.from, small.to)
})

test('a multiattach volume that two servers use is not swapped', async () => {
  const [one, two] = [await prepared('one'), await prepared('two')]
  const [shared, other] = [
    await volume({ volume_type: 'shared' }),
    await volume({ volume_type: 'shared' }),
  ]
  const volumeAttachment = { volumeId: shared }
  const attach = (server: string) =>
    demo.post(attachmentsOf(server), { volumeAttachment }, { version: '2.60' })
  const swap = () => {
    const asked = { volumeAttachment: { volumeId: other } }
    return admin.put(`${attachmentsOf(one.server)}/${shared}`, asked, { version: '2.85' })
  }
  for (const { server } of [one, two]) expect((await attach(server)).status).toBe(200)

  const refused = await swap()

  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('more than one read/write attachment is not supported'),
  ])
  await deleteServer(demo, two.server)
  expect((await swap()).status).toBe(202)
  await untilStored(demo, 'volume', other, 'in-use')
  await cleared(one.server, one.to, two.to, shared, other)
})

test('a host that cannot copy, or change over, leaves the server its volume and says why', async () => {
  const { server, from, to, swap } = await prepared('unlucky')
  const message = 'The disk is broken.'
  for (const method of ['copyToVolume', 'pivotVolume'] as const) {
    for (const host of cloud.cell(ZONE).computes)
      host.fail({ method, times: 1, effect: { do: 'fail', kind: 'conflict', message } })

    const { status, body } = await swap(to)

    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining(message)])
    expect(await statuses(from, to)).toEqual(['in-use', 'available'])
    expect(await listed(server)).toMatchObject([{ volumeId: from }])
  }
  await expectAction(server, 'Error', 'Error')
  expect((await swap(to, { fields: { delete_on_termination: false } })).status).toBe(202)
  await untilStored(demo, 'volume', to, 'in-use')
  expect(await listed(server)).toMatchObject([{ volumeId: to, delete_on_termination: false }])
  await cleared(server, from, to)
})

test('lost answers of the host are asked for again, and a locked server is for administrators', async () => {
  const { server, from, to, swap } = await prepared('lossy')
  const lost = { do: 'fail', kind: 'unavailable' } as const
  for (const host of cloud.cell(ZONE).computes)
    host.fail(
      { method: 'copyToVolume', times: 1, effect: lost },
      { method: 'pivotVolume', times: 1, effect: lost },
    )
  await act(demo, server, { lock: null })

  expect((await swap(to)).status).toBe(202)

  await untilStored(demo, 'volume', to, 'in-use')
  await untilStored(demo, 'volume', from, 'available')
  await act(demo, server, { unlock: null })
  await deleteServer(demo, server)
  await removeStored(demo, 'volume', from)
})

test('neither volume is used otherwise during a copy, which ends with its server', async () => {
  const { server, from, to, swap } = await prepared('goes')
  for (const host of cloud.cell(ZONE).computes)
    host.fail({ method: 'copyToVolume', effect: { do: 'hang' } })
  const asked = swap(to)
  await untilStored(demo, 'volume', to, 'attaching')

  expect(await statuses(from, to)).toEqual(['detaching', 'attaching'])
  const extend = { 'os-extend': { new_size: 2 } }
  for (const id of [from, to]) {
    const path = `${BLOCK_STORAGE}/volumes/${id}`
    expect((await demo.post(`${path}/action`, extend, { version: '3.42' })).status).toBe(400)
    expect((await demo.delete(path)).status).toBe(400)
  }
  expect((await demo.delete(`${attachmentsOf(server)}/${from}`)).status).toBe(400)
  await deleteServer(demo, server)

  expect((await asked).status).toBe(409)
  await untilStored(demo, 'volume', to, 'available')
  const isGone = async () => (await showStored(demo, 'volume', from)) === undefined
  await waitFor('the volume to go with its server', isGone, LIMIT_MS)
  await removeStored(demo, 'volume', to)
})

test('afterwards nothing is left or charged', async () => {
  await expectInvariants(cloud)
})
