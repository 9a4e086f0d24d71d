import { describe, expect, test } from 'vitest'
import type { Fault } from '#drivers/fake/faults.ts'
import { type Operation, untilOperation } from '#test/env/api/operations.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  unboundServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import type { CloudCell } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
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
  waitFor,
} from './volume-cells.ts'

// Goal: a server that changes cells has its volumes along, the same ones, charged once; where one cannot go, all are where they were.
// The short path is in server-move-disks.test.ts.

interface Attached {
  readonly id: string
  readonly volumeId: string
  readonly device: string
  readonly tag: string | null
  readonly delete_on_termination: boolean
  readonly attachment_id: string
}

describe.skipIf(!isFullRun)('servers with volumes', () => {
  useTwoStores()

  const cellOfVolume = async (id: string) =>
    (await admin.get<{ cell: string }>(`${FEDERATION}/volumes/${id}/trace`)).body.cell
  const cellOf = async (id: string) =>
    (
      await admin.get<{ servers: readonly { id: string; cell: string | null }[] }>(
        `${FEDERATION}/servers`,
      )
    ).body.servers.find((each) => each.id === id)?.cell
  const attached = async (id: string) =>
    (
      await demo.get<{ volumeAttachments: readonly Attached[] }>(
        `${SERVERS}/${id}/os-volume_attachments`,
        { version: '2.89' },
      )
    ).body.volumeAttachments
  const used = async () => ({
    ...((await demo.get(`${ROOT}/limits`)).body['limits'] as object),
    ...(await demo.get<{ limits: { absolute: object } }>('/compute/v2.1/limits')).body.limits,
  })
  const askToMove = (id: string, body: object = { cell: south.name }) =>
    admin.post<Operation>(`${FEDERATION}/servers/${id}/move`, body)
  const guestsOf = async (cell: CloudCell) =>
    (await Promise.all(cell.computes.map((host) => host.guests()))).flat()

  /** Afterwards the hosts of the cell have this fault. */
  function fail(cell: CloudCell, method: Fault['method'], effect: Fault['effect']): void {
    for (const host of cell.computes) host.fail({ method, effect })
  }

  function healAll(): void {
    for (const host of cloud.hosts) host.fail()
  }

  async function volume(fields: object = {}): Promise<string> {
    const zone = { availability_zone: north.name }
    const { body } = await demo.post(`${ROOT}/volumes`, { volume: { size: 2, ...zone, ...fields } })
    const { id } = body['volume'] as Body
    await untilVolume(id, 'available')
    return id
  }

  async function attach(id: string, volumeId: string, fields: object = {}): Promise<void> {
    const wanted = { volumeAttachment: { volumeId, ...fields } }
    const path = `${SERVERS}/${id}/os-volume_attachments`
    const { status } = await demo.post(path, wanted, { version: '2.79' })
    expect(status).toBe(200)
    await untilVolume(volumeId, 'in-use')
  }

  interface Loaded {
    readonly id: string
    readonly first: string
    readonly second: string
  }

  /** A server of the northern cell, bound to no zone, that has two volumes. */
  async function loaded(): Promise<Loaded> {
    const { id } = await unboundServer(cloud, demo, north.name)
    const first = await volume({ name: 'first' })
    const second = await volume({ name: 'second', size: 3 })
    await attach(id, first, { tag: 'logs' })
    await attach(id, second, { delete_on_termination: true })
    return { id, first, second }
  }

  async function moving(id: string, body?: object): Promise<string> {
    const { status, body: begun } = await askToMove(id, body)
    expect(status, JSON.stringify(begun)).toBe(202)
    return begun.id
  }

  /** The server runs there with these volumes, and the other cell has nothing of either. */
  async function expectIn(cell: CloudCell, { id, first, second }: Loaded): Promise<void> {
    const other = cell === north ? south : north
    expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
    expect(await cellOf(id)).toBe(cell.name)
    for (const each of [first, second]) {
      expect(await show(each)).toMatchObject({ status: 'in-use', availability_zone: cell.name })
      expect(await cellOfVolume(each)).toBe(cell.name)
    }
    expect(await guestsOf(cell)).toContain(id)
    expect(await guestsOf(other)).not.toContain(id)
  }

  const untilCarrying = (operation: string) =>
    untilOperation(admin, operation, ({ message }) => message?.startsWith('Its volumes') === true)
  /** The volume is saved, and the other cell is asked to make it. */
  const untilMade = (id: string) =>
    waitFor('the other cell to be asked', async () => {
      const path = `${FEDERATION}/operations?state=running`
      const { operations } = (await admin.get<{ operations: readonly Body[] }>(path)).body
      const own = operations.find((each) => each['subject_id'] === id)
      return own?.['message'] === 'The other cell makes it.'
    })

  test('a server has its volumes along in another cell, as it had them, and takes them back', async () => {
    const server = await loaded()
    const { id, first, second } = server
    const [before, charged] = [await attached(id), await used()]

    expect(await ended(await moving(id))).toMatchObject({
      ...{ state: 'done', message: expect.stringContaining('saved in two passes') },
    })

    await expectIn(south, server)
    expect(await attached(id)).toEqual(before)
    expect(before.map(({ tag, delete_on_termination }) => [tag, delete_on_termination])).toEqual([
      ['logs', false],
      [null, true],
    ])
    expect(await used()).toEqual(charged)

    // They are detached there as everywhere, and the way back takes what is left along.
    await demo.delete(`${SERVERS}/${id}/os-volume_attachments/${first}`)
    await untilVolume(first, 'available')
    await attach(id, await volume({ availability_zone: south.name, name: 'third' }))
    expect(await ended(await moving(id, {}))).toMatchObject({ state: 'done' })
    expect(await cellOf(id)).toBe(north.name)
    expect(await cellOfVolume(second)).toBe(north.name)
    expect(await cellOfVolume(first)).toBe(south.name)
    await deleteServer(demo, id)
    await waitFor('the volume that goes with it', async () => {
      return (await demo.get(`${ROOT}/volumes/${second}`)).status === 404
    })
  })

  test('a server that starts from a volume starts from it in the other cell', async () => {
    const { server } = smallServer(cloud) as { server: Record<string, unknown> }
    const { imageRef: _, ...rest } = server
    const root = {
      ...{ source_type: 'image', uuid: cloud.catalog.image, destination_type: 'volume' },
      ...{ boot_index: 0, volume_size: 1, delete_on_termination: true },
    }
    const data = {
      source_type: 'blank',
      destination_type: 'volume',
      volume_size: 2,
      boot_index: -1,
    }
    const { body } = await demo.post<{ server: Body }>(SERVERS, {
      server: {
        ...{ ...rest, availability_zone: north.name },
        block_device_mapping_v2: [root, { ...data, delete_on_termination: true }],
      },
    })
    const { id } = body.server
    await untilStatus(demo, id, 'ACTIVE')
    const free = { server: { pinned_availability_zone: null } }
    await demo.put(`${SERVERS}/${id}`, free, { version: '2.104' })
    const [before, charged] = [await attached(id), await used()]

    expect(await ended(await moving(id))).toMatchObject({ state: 'done', message: null })

    expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE', image: '' })
    expect(await cellOf(id)).toBe(south.name)
    expect(await attached(id)).toEqual(before)
    for (const { volumeId } of before) expect(await cellOfVolume(volumeId)).toBe(south.name)
    expect(await used()).toEqual(charged)
    await act(demo, id, { reboot: { type: 'HARD' } })
    await untilStatus(demo, id, 'ACTIVE')
    await deleteServer(demo, id)
  })

  test('a volume that the other cell cannot make brings all back, and the operation says why', async () => {
    const server = await loaded()
    const [before, charged] = [await attached(server.id), await used()]
    const operation = await moving(server.id)
    await waitFor('the first to be there', async () => {
      return (await cellOfVolume(server.first)) === south.name
    })
    fail(south, 'createVolume', { do: 'fail', kind: 'unsupported', message: 'broken' })

    const { state, message } = await ended(operation)

    expect(state).toBe('failed')
    expect(message).toContain(`Volume ${server.second} did not move.`)
    expect(message).toContain('broken')
    await expectIn(north, server)
    expect(await attached(server.id)).toEqual(before)
    expect(await used()).toEqual(charged)
    await deleteServer(demo, server.id)
  })

  test('a move that is cancelled while its volumes move brings all back', async () => {
    const server = await loaded()
    const [before, charged] = [await attached(server.id), await used()]
    const operation = await moving(server.id)
    await waitFor('the first to be there', async () => {
      return (await cellOfVolume(server.first)) === south.name
    })
    fail(south, 'createVolume', { do: 'hang' })
    await untilCarrying(operation)

    expect((await cancel(operation)).status).toBe(200)
    healAll()

    expect(await ended(operation)).toMatchObject({ state: 'cancelled', message: null })
    await expectIn(north, server)
    expect(await attached(server.id)).toEqual(before)
    expect(await used()).toEqual(charged)
    await deleteServer(demo, server.id)
  })

  test('a server that the other cell cannot build is back with its volumes', async () => {
    const server = await loaded()
    const [before, charged] = [await attached(server.id), await used()]
    fail(south, 'spawn', { do: 'fail', kind: 'invalid', message: 'broken' })

    const { state, message } = await ended(await moving(server.id))

    expect([state, message]).toEqual(['failed', 'Host south-1 could not build it: broken'])
    await expectIn(north, server)
    expect(await attached(server.id)).toEqual(before)
    expect(await used()).toEqual(charged)
    await deleteServer(demo, server.id)
  })

  test('another gateway continues the move of one that is killed, and the server cannot be started meanwhile', async () => {
    const server = await loaded()
    const charged = await used()
    fail(south, 'createVolume', { do: 'hang' })
    const operation = await moving(server.id)
    // Not while its host uploads to the gateway that is killed: killed-upload.test.ts does that.
    await untilMade(server.first)
    const unshelved = await act(demo, server.id, { unshelve: null })
    expect(unshelved.status).toBe(409)
    expect(JSON.stringify(unshelved.body)).toContain('is on its way to another cell')
    expect(await used()).toEqual(charged)

    const [gateway] = cloud.gateways
    await gateway!.kill()
    healAll()
    await gateway!.start()

    expect(await ended(operation)).toMatchObject({ state: 'done' })
    await expectIn(south, server)
    expect(await used()).toEqual(charged)
    await deleteServer(demo, server.id)
  })

  test('a server that is deleted while its volumes move is gone, and they are in one cell', async () => {
    const server = await loaded()
    fail(south, 'createVolume', { do: 'hang' })
    const operation = await moving(server.id)
    await untilVolume(server.first, 'maintenance')

    await demo.delete(`${SERVERS}/${server.id}`)
    expect(await ended(operation)).toMatchObject({ state: 'failed' })
    healAll()

    await untilVolume(server.first, 'available')
    await waitFor('the volume that goes with it', async () => {
      return (await demo.get(`${ROOT}/volumes/${server.second}`)).status === 404
    })
  })

  test('volumes that cannot go along are named, with the reason, and nothing is stopped', async () => {
    const server = await loaded()
    const refusal = async () => {
      const { status, body } = await askToMove(server.id)
      expect(status).toBe(409)
      const path = `${FEDERATION}/servers/${server.id}/move?cell=${south.name}`
      const forecast = (await admin.get<{ obstacle: string }>(path)).body
      expect(JSON.stringify(body)).toContain(JSON.stringify(forecast.obstacle).slice(1, -1))
      return JSON.stringify(body)
    }

    const { body } = await demo.post(`${ROOT}/snapshots`, {
      snapshot: { volume_id: server.first, force: true },
    })
    const snapshot = `${ROOT}/snapshots/${(body['snapshot'] as Body).id}`
    await waitFor('the snapshot', async () => {
      return ((await demo.get(snapshot)).body['snapshot'] as Body).status === 'available'
    })
    expect(await refusal()).toContain(
      `Server ${server.id} cannot be moved: volume ${server.first} cannot go along: it has snapshots, which cannot leave their store. Delete them first.`,
    )
    await demo.delete(snapshot)
    await waitFor('no snapshot', async () => (await demo.get(snapshot)).status === 404)

    const type = `shared-${Date.now()}`
    const specs = { multiattach: '<is> True' }
    await admin.post(`${ROOT}/types`, { volume_type: { name: type, extra_specs: specs } })
    const shared = await volume({ volume_type: type })
    const other = await unboundServer(cloud, demo, north.name)
    await attach(server.id, shared)
    await attach(other.id, shared)
    expect(await refusal()).toContain(
      `volume ${shared} cannot go along: server ${other.id} uses it too. Detach it there first.`,
    )
    await deleteServer(demo, other.id)

    // What was deleted there before is free once its host has reported that.
    await waitFor('the room of the store', async () => {
      const path = `${ROOT}/scheduler-stats/get_pools?detail=true`
      type Pool = { name: string; capabilities: { free_capacity_gb: number } }
      const { pools } = (await admin.get<{ pools: readonly Pool[] }>(path)).body
      const pool = pools.find(({ name }) => name.startsWith(`${south.name}@`))
      return pool?.capabilities.free_capacity_gb === STORE_GB
    })
    const filler = await volume({ size: STORE_GB - 4, availability_zone: south.name })
    await waitFor('the room to be known', async () =>
      (await refusal()).includes(
        `its volumes cannot go along: cell ${south.name} has no room for 3 volumes with 7 GiB in its stores.`,
      ),
    )
    await demo.delete(`${ROOT}/volumes/${filler}`)
    await waitFor('it to be gone', async () => {
      return (await demo.get(`${ROOT}/volumes/${filler}`)).status === 404
    })

    expect(await showServer(demo, server.id)).toMatchObject({ status: 'ACTIVE' })
    expect(await cellOf(server.id)).toBe(north.name)
    await deleteServer(demo, server.id)
  })

  test('a cell is emptied with the volumes of its servers', async () => {
    const server = await loaded()
    const { hosts } = (await admin.get<{ hosts: readonly Body[] }>(`${FEDERATION}/hosts`)).body
    const host = hosts.find(({ name }) => name === north.computes[0]!.name)!.id

    const { body } = await admin.post<Operation>(`${FEDERATION}/hosts/${host}/drain`, {
      to_other_cells: true,
    })

    expect(await ended(body.id)).toMatchObject({ state: 'done' })
    await waitFor('the server', async () => (await showServer(demo, server.id)).status === 'ACTIVE')
    await expectIn(south, server)
    await admin.call('PATCH', `${FEDERATION}/hosts/${host}`, { is_cordoned: false })
    await deleteServer(demo, server.id)
  })
})
