import { expect, test } from 'vitest'
import type { Fault } from '#drivers/fake/faults.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Operation, untilOperation } from '#test/env/api/operations.ts'
import { activeServer, deleteServer, SERVERS } from '#test/env/api/servers.ts'
import type { CloudCell } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { WeirCommand } from '#test/env/weir-command.ts'
import {
  admin,
  type Body,
  cancel,
  cloud,
  demo,
  ended,
  FEDERATION,
  north,
  ROOT,
  STORE_GB,
  show,
  south,
  untilVolume,
  useTwoStores,
  volumes,
  waitFor,
} from './volume-cells.ts'

// Goal: a volume changes cells and is the same volume there, in one cell at any moment; where it cannot, it is where it was.

interface Refusal {
  readonly error?: { readonly message?: string }
}
interface Place {
  readonly cell: string | null
  readonly decisions: readonly { readonly attempt: number; readonly level: string }[]
}

useTwoStores()

const placeOf = async (id: string) =>
  (await admin.get<Place>(`${FEDERATION}/volumes/${id}/trace`)).body
const cellOf = async (id: string) => (await placeOf(id)).cell
const used = async () => (await demo.get(`${ROOT}/limits`)).body['limits']
const action = (by: ApiClient, id: string, body: object) =>
  by.post(`${ROOT}/volumes/${id}/action`, body)
const askToMove = (id: string, cell: string) =>
  admin.post<Operation & Refusal>(`${FEDERATION}/volumes/${id}/move`, { cell })

async function volume(fields: object = {}): Promise<string> {
  const zone = { availability_zone: north.name }
  const { body } = await demo.post(`${ROOT}/volumes`, { volume: { size: 2, ...zone, ...fields } })
  const { id } = body['volume'] as Body
  await untilVolume(id, 'available')
  return id
}

async function moving(id: string, to = south): Promise<string> {
  const { status, body } = await askToMove(id, to.name)
  expect(status, JSON.stringify(body)).toBe(202)
  expect(body).toMatchObject({ kind: 'volume-move', is_cancellable: true })
  return body.id
}

const moved = async (id: string, to = south) => ended(await moving(id, to))

/** Afterwards the hosts of the cell have this fault. */
function fail(cell: CloudCell, method: Fault['method'], effect: Fault['effect']): void {
  for (const host of cell.computes) host.fail({ method, effect })
}

async function expectWhereItWas(id: string): Promise<void> {
  expect(await show(id)).toMatchObject({ status: 'available' })
  const { cell } = await placeOf(id)
  expect(cell).toBe(north.name)
}

test('a volume is the same in another cell, where servers use it, and moves back', async () => {
  const type = `t-${Date.now()}`
  await admin.post(`${ROOT}/types`, {
    volume_type: { name: type, extra_specs: { volume_backend_name: 'fake' } },
  })
  const metadata = { role: 'data' }
  const fields = { name: 'roaming', description: 'Goes far', metadata, volume_type: type }
  const id = await volume({ ...fields, imageRef: cloud.catalog.image })
  const [before, charged] = [await show(id), await used()]

  expect(await moved(id)).toMatchObject({ state: 'done', message: null })

  const after = await show(id)
  for (const field of ['name', 'description', 'metadata', 'size', 'volume_type', 'bootable'])
    expect(after[field], field).toEqual(before[field])
  expect(after).toMatchObject({
    ...{ status: 'available', created_at: before['created_at'], availability_zone: south.name },
    volume_image_metadata: before['volume_image_metadata'],
  })
  expect(await used()).toEqual(charged)
  const { cell, decisions } = await placeOf(id)
  expect(cell).toBe(south.name)
  expect(decisions.at(-1)).toMatchObject({ attempt: 2, level: 'stores' })

  const server = await activeServer(cloud, demo, { availability_zone: south.name })
  const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  await untilVolume(id, 'in-use')
  await deleteServer(demo, server.id)
  await untilVolume(id, 'available')

  // The cell may still be deleting what it had of it.
  await waitFor('the way back', async () => (await askToMove(id, north.name)).status === 202)
  await waitFor('the former cell', async () => (await cellOf(id)) === north.name)
})

test('other changes are refused while it moves, and a repeated request returns the move', async () => {
  const id = await volume()
  fail(north, 'exportVolume', { do: 'hang' })
  const charged = await used()
  const operation = await moving(id)

  expect(await show(id)).toMatchObject({ status: 'maintenance' })
  expect((await askToMove(id, south.name)).body.id).toBe(operation)
  expect((await askToMove(id, north.name)).status).toBe(409)
  expect((await demo.delete(`${ROOT}/volumes/${id}`)).status).toBe(400)
  expect((await action(demo, id, { 'os-extend': { new_size: 3 } })).status).toBe(400)
  const reset = { 'os-reset_status': { status: 'available' } }
  expect((await action(admin, id, reset)).status).toBe(409)
  const server = await activeServer(cloud, demo, { availability_zone: north.name })
  const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
  const held = await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  expect(held.status).toBe(400)
  await deleteServer(demo, server.id)
  const snapshot = await demo.post(`${ROOT}/snapshots`, { snapshot: { volume_id: id } })
  expect(snapshot.status).toBe(400)
  expect(await used()).toEqual(charged)
  await untilOperation(admin, operation, ({ message }) => message === 'Its content is being saved.')

  for (const host of cloud.hosts) host.fail()
  expect(await ended(operation)).toMatchObject({ state: 'done' })
  expect(await cellOf(id)).toBe(south.name)
})

test.each([
  ['while its content is saved', () => north, 'exportVolume'],
  ['while the other cell makes it', () => south, 'createVolume'],
] as const)(
  'a move that is cancelled %s leaves the volume where it was',
  async (_, where, method) => {
    const id = await volume()
    fail(where(), method, { do: 'hang' })
    const operation = await moving(id)
    const message = method === 'exportVolume' ? 'is being saved' : 'The other cell makes it'
    await untilOperation(admin, operation, (each) => each.message?.includes(message) === true)

    expect((await cancel(operation)).status).toBe(200)
    for (const host of cloud.hosts) host.fail()

    expect(await ended(operation)).toMatchObject({ state: 'cancelled', message: null })
    await expectWhereItWas(id)
    expect((await cancel(operation)).status).toBe(409)
    // It has no owner then, and can be moved again.
    await waitFor('another move', async () => (await askToMove(id, south.name)).status === 202)
    await waitFor('the other cell', async () => (await cellOf(id)) === south.name)
  },
)

test.each([
  ['that cannot be read', () => north, 'exportVolume', 'Its content was not saved: broken'],
  ['that the other cell cannot make', () => south, 'createVolume', 'could not make it: broken'],
] as const)('a volume %s stays, and the operation says why', async (_, where, method, why) => {
  const id = await volume()
  fail(where(), method, { do: 'fail', kind: 'unsupported', message: 'broken' })

  const operation = await moved(id)

  expect(operation.state).toBe('failed')
  expect(operation.message).toContain(why)
  for (const host of cloud.hosts) host.fail()
  await expectWhereItWas(id)
  const { body } = await admin.get(`${ROOT}/volumes/${id}`)
  expect((body['volume'] as Body)['weir:fault']).toContain(why)
})

test('a volume that is deleted by force on its way is gone everywhere', async () => {
  const id = await volume()
  fail(south, 'createVolume', { do: 'hang' })
  const operation = await moving(id)
  await untilOperation(admin, operation, (each) => each.message === 'The other cell makes it.')

  expect((await action(admin, id, { 'os-force_delete': {} })).status).toBe(202)
  for (const host of cloud.hosts) host.fail()

  expect(await ended(operation)).toMatchObject({ state: 'failed' })
  await waitFor('no volume', async () => (await volumes()).length === 0)
  await waitFor('nothing in either cell', async () => {
    await expectInvariants(cloud)
    return true
  })
})

test('what cannot be moved is refused with the reason, and stays as it is', async () => {
  const id = await volume()
  const refusal = async (to: string, of = id) => {
    const { status, body } = await askToMove(of, to)
    return `${status} ${JSON.stringify(body)}`
  }

  expect(await refusal(north.name)).toContain(`409`)
  expect(await refusal(north.name)).toContain(`it is in cell ${north.name}. Name another cell.`)
  expect(await refusal('nowhere')).toContain('There is no cell nowhere.')
  expect(await refusal(south.name, 'nothing')).toContain(
    'There is no volume with the id or name nothing.',
  )
  const path = `${FEDERATION}/volumes/${id}/move`
  expect((await demo.post(path, { cell: south.name })).status).toBe(403)
  expect((await admin.post(path, {})).status).toBe(400)

  const { body } = await demo.post(`${ROOT}/snapshots`, { snapshot: { volume_id: id } })
  const snapshot = `${ROOT}/snapshots/${(body['snapshot'] as Body).id}`
  await waitFor('the snapshot', async () => {
    return ((await demo.get(snapshot)).body['snapshot'] as Body).status === 'available'
  })
  expect(await refusal(south.name)).toContain('it has snapshots, which cannot leave their store')
  await demo.delete(snapshot)
  await waitFor('no snapshot', async () => (await demo.get(snapshot)).status === 404)

  const server = await activeServer(cloud, demo, { availability_zone: north.name })
  const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  await untilVolume(id, 'in-use')
  expect(await refusal(south.name)).toContain('a server uses it. Detach it first, or move')
  await deleteServer(demo, server.id)
  await untilVolume(id, 'available')

  const { body: offer } = await demo.post(`${ROOT}/volume-transfers`, {
    transfer: { volume_id: id },
  })
  expect(await refusal(south.name)).toContain('it is offered to another project')
  await demo.delete(`${ROOT}/volume-transfers/${(offer['transfer'] as Body).id}`)

  await expectWhereItWas(id)
})

test('an encrypted volume opens in another cell with the key that it had', async () => {
  const { body } = await admin.post(`${ROOT}/types`, { volume_type: { name: 'sealed' } })
  const path = `${ROOT}/types/${(body['volume_type'] as Body).id}/encryption`
  const encryption = { provider: 'luks', control_location: 'front-end' }
  expect((await admin.post(path, { encryption })).status).toBe(200)
  const id = await volume({ volume_type: 'sealed' })

  expect(await moved(id)).toMatchObject({ state: 'done', message: null })

  // A simulated host opens it with no other key.
  const server = await activeServer(cloud, demo, { availability_zone: south.name })
  const attachments = `${SERVERS}/${server.id}/os-volume_attachments`
  await demo.post(attachments, { volumeAttachment: { volumeId: id } })
  await untilVolume(id, 'in-use')
  await deleteServer(demo, server.id)
  await untilVolume(id, 'available')
})

test('a cell whose stores are full is refused before anything is saved', async () => {
  const filler = await volume({ size: STORE_GB - 1, availability_zone: south.name })
  const id = await volume()

  await waitFor('the room to be known', async () => {
    const { status, body } = await askToMove(id, south.name)
    return status === 409 && JSON.stringify(body).includes('has no store with room for 2 GiB')
  })

  expect(await show(id)).toMatchObject({ status: 'available' })
  expect(await cellOf(filler)).toBe(south.name)

  await demo.delete(`${ROOT}/volumes/${filler}`)
  await waitFor('it to be gone', async () => {
    return (await demo.get(`${ROOT}/volumes/${filler}`)).status === 404
  })
  const again = await waitFor('the new room to be known', async () => {
    const { status, body } = await askToMove(id, south.name)
    return status === 202 ? body : undefined
  })
  expect(await ended(again.id)).toMatchObject({ state: 'done' })
})

// It takes as long as a cell needs to be missed and to come back.
test.skipIf(!isFullRun)(
  'what it leaves in a cell that is away is deleted once that is back',
  async () => {
    const id = await volume()
    fail(south, 'createVolume', { do: 'hang' })
    const operation = await moving(id)
    await untilOperation(admin, operation, (each) => each.message === 'The other cell makes it.')

    for (const process of north.processes) await process.kill()
    await waitFor('the cell to be missed', async () => {
      const { body } = await admin.get<{ is_reachable: boolean }>(
        `${FEDERATION}/cells/${north.name}`,
      )
      return !body.is_reachable
    })
    for (const host of cloud.hosts) host.fail()
    expect(await ended(operation)).toMatchObject({ state: 'done' })
    expect(await cellOf(id)).toBe(south.name)
    expect((await askToMove(id, north.name)).status).toBe(503)

    for (const process of north.processes) await process.start()
    await waitFor('the content to go', async () => (await askToMove(id, north.name)).status === 202)
    await waitFor('the former cell', async () => (await cellOf(id)) === north.name)
  },
)

test('the command line moves a volume by its name, waits, and cancels', async () => {
  const command = new WeirCommand(cloud, 'admin')
  const id = await volume({ name: 'suitcase' })

  const moved = await command.run(`volume move suitcase --cell ${south.name} --wait`)
  expect(moved).toMatchObject({ code: 0 })
  expect(moved.out).toMatch(/STATE +done/)
  expect(await cellOf(id)).toBe(south.name)
  const nowhere = await command.run('volume move suitcase --cell nowhere')
  expect(nowhere).toMatchObject({ code: 3 })
  expect(nowhere.err).toContain('There is no cell nowhere.')
  const nothing = await command.run(`volume move nothing --cell ${south.name}`)
  expect(nothing).toMatchObject({ code: 3 })

  const other = await volume({ name: 'trunk' })
  fail(south, 'createVolume', { do: 'hang' })
  const begun = await command.json<Operation>(`volume move trunk --cell ${south.name}`)
  await untilOperation(admin, begun.id, (each) => each.message === 'The other cell makes it.')
  expect((await command.run(`operation show ${begun.id}`)).out).toMatch(/The other cell makes it/)
  expect(await command.run(`operation cancel ${begun.id}`)).toMatchObject({ code: 0 })
  for (const host of cloud.hosts) host.fail()
  expect(await ended(begun.id)).toMatchObject({ state: 'cancelled' })
  await expectWhereItWas(other)
})

test('a cell does not leave while it is being given a volume', async () => {
  const id = await volume()
  fail(south, 'createVolume', { do: 'hang' })
  const operation = await moving(id)
  await untilOperation(admin, operation, (each) => each.message === 'The other cell makes it.')

  const refused = await admin.delete(`${FEDERATION}/cells/${south.name}`)

  expect(refused.status).toBe(409)
  expect(JSON.stringify(refused.body)).toContain('is being given volumes of other cells')
  for (const host of cloud.hosts) host.fail()
  expect(await ended(operation)).toMatchObject({ state: 'done' })
})
