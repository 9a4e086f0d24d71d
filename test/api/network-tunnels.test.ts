import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { findOperatedCell, updateCell } from '#gateway/app/cells/operated-cells.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { testTunnels } from '#gateway/app/cells/test-tunnels.ts'
import type { AskHost } from '#gateway/cell-client/host-client.ts'
import { cellsOfNetworks, lockNetworks } from '#gateway/db/cell-networks.ts'
import { failedTunnels, recordTunnel } from '#gateway/db/cell-tunnels.ts'
import { findServer } from '#gateway/db/find-server.ts'
import { applyHostViews } from '#gateway/db/host-index.ts'
import { removeCell } from '#gateway/db/remove-cell.ts'
import { listTraces } from '#gateway/db/traces.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'
import type { ApiClient } from '../env/compute-api.ts'
import { createNetwork, createSubnet } from '../env/network-objects.ts'
import { sampleHost } from '../env/sample-host.ts'
import { HONEST_SUMMARY, ScriptedCell } from '../env/scripted-cell.ts'

// Goal: a network stays within cells whose hosts tunnel to each other, and a refused user is told the reason.

const WAIT_MS = 30_000
const HOSTS = [newId<HostId>(), newId<HostId>()]

let world: BootWorld
let user: ApiClient
let admin: ApiClient
let south: ScriptedCell

beforeAll(async () => {
  world = await bootWorld('network_tunnels')
  user = await world.api.user('alice', 'owners', 'member')
  admin = await world.api.user('root', 'owners', 'admin')
  const { db, compute } = world.api.gateway
  const id = newId<CellId>()
  await world.bus.addCell(id)
  await registerCell(db, { id, name: 'south' })
  south = await ScriptedCell.open(world.bus, id, 'south')
  for (const cell of [world.cell, south]) await know(cell, { version: 10 })
  await waitFor('a heartbeat of the cell', () => compute.cells.cell(id)?.isReachable, WAIT_MS)
})
afterAll(async () => {
  await south?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

/** Afterwards this is known of the cell's host, which OVN joins. */
async function know(cell: ScriptedCell, change: Partial<HostView>): Promise<void> {
  const index = [world.cell, south].indexOf(cell)
  const network = { encapAddress: `10.9.0.${index + 1}`, physicalNetworks: [] }
  const view = sampleHost(`host-${index}`, { hostId: HOSTS[index]!, network, ...change })
  const { db } = world.api.gateway
  await db.transaction((tx) => applyHostViews(tx, cell.id, [view]))
}

const cells = () => world.api.gateway.compute.cells

/** Afterwards this gateway knows the zone of the southern cell. */
async function zone(transportZone: string | null): Promise<void> {
  const { db } = world.api.gateway
  await updateCell(db, await findOperatedCell(db, cells(), south.id), { transportZone })
  await cells().refresh()
}

/** Afterwards the last test between both cells ended so. */
async function tested(failure: string | null): Promise<void> {
  const { db } = world.api.gateway
  const cellIds = [world.cell.id, south.id].toSorted() as [CellId, CellId]
  await db.transaction((tx) => recordTunnel(tx, { cellIds, failure, testedAt: new Date() }))
  await cells().refresh()
}

async function freshNetwork(): Promise<string> {
  const { networks } = world.api.gateway
  const owner = { projectId: user.projectId, isAdmin: false }
  const { id } = await createNetwork(networks, owner, { name: 'blue' })
  await createSubnet(networks, owner, { network_id: id, ip_version: 4, cidr: '10.70.0.0/24' })
  return id
}

/** Makes a cell the one with most room; undefined: all have the same. */
function favour(cell: ScriptedCell | undefined): void {
  for (const each of [world.cell, south]) {
    const free = {
      ...HONEST_SUMMARY.free,
      memoryMb: (cell ?? each) === each ? 1_000_000_000 : 100_000,
    }
    each.summary = { ...HONEST_SUMMARY, free }
  }
}

async function boot(networkId: string, change: object = {}, who = user) {
  const networks = [{ uuid: networkId }]
  const { status, body } = await who.call<{ server?: { id: string }; reservation_id?: string }>(
    'createServer',
    { body: world.body({ networks, ...change }), version: '2.60' },
  )
  expect([status, body]).toEqual([202, body])
  const id = body.server!.id
  return world.until(id, ({ vmState }) => vmState === 'active' || vmState === 'error')
}

/** Waits for the next heartbeats: what each gateway counts as free comes with them. */
async function favoured(cell: ScriptedCell | undefined): Promise<void> {
  favour(cell)
  const isKnown = ({ id, summary }: ScriptedCell) =>
    cells().cell(id)?.summary?.free.memoryMb === summary.free.memoryMb
  await waitFor('the room to be known', () => [world.cell, south].every(isKnown), WAIT_MS)
}

test('a network stays in the transport zone of its servers, and its fault and trace say so', async () => {
  await zone('south-west')
  const networkId = await freshNetwork()
  await favoured(world.cell)
  expect((await boot(networkId)).cellId).toBe(world.cell.id)

  await favoured(south)
  const second = await boot(networkId)
  expect(second.cellId).toBe(world.cell.id)
  const [decision] = await listTraces(world.api.gateway.db, second.id)
  const reason =
    "cannot tunnel to all cells that network 'blue' is in (cell north): " +
    "south is in transport zone 'south-west', and north is in no named transport zone"
  expect(decision?.trace.filters).toContainEqual(
    expect.objectContaining({
      name: 'TunnelFilter',
      examples: [{ candidate: 'south', reason }],
    }),
  )

  const refused = await boot(networkId, { availability_zone: 'nova:host-1' }, admin)
  expect(refused).toMatchObject({ vmState: 'error', cellId: null })
  expect(refused.fault?.message).toContain(
    'TunnelFilter removed the last of 2 cells: a network of the server is in another part',
  )
})

test('without its zone, or with a tunnel again, the other cell takes servers of the network', async () => {
  const networkId = await freshNetwork()
  await zone(null)
  await favoured(world.cell)
  expect((await boot(networkId)).cellId).toBe(world.cell.id)

  await tested('large packets are lost')
  await favoured(south)
  expect((await boot(networkId)).cellId).toBe(world.cell.id)

  await tested(null)
  expect((await boot(networkId)).cellId).toBe(south.id)
})

test('servers that are requested together get one group of cells', async () => {
  await zone('south-west')
  await favoured(undefined)
  const together = await freshNetwork()
  await boot(together, { min_count: 4, max_count: 4 })
  const { db } = world.api.gateway
  expect(await cellsOfNetworks(db, [together], null)).toHaveLength(1)
  await zone(null)
})

test('a boot goes to the cell to which the network came while it was decided', async () => {
  user = await world.api.user('bob', 'others', 'member')
  const { db } = world.api.gateway
  const networkId = await freshNetwork()
  await favoured(south)
  const first = await boot(networkId)
  await zone('south-west')

  const { second } = await db.transaction(async (tx) => {
    await lockNetworks(tx, [networkId])
    await tx.orm.execute(
      `update instance_mappings set cell_id = '${world.cell.id}' where server_id = '${first.id}'`,
    )
    const begun = boot(networkId)
    const waiting = `select 1 from information_schema.processlist
      where db = database() and command = 'Query' and info like '%\`networks\`%lock_version%'`
    const isWaiting = async () =>
      ((await db.orm.execute(waiting))[0] as unknown as readonly object[]).length > 0
    await waitFor('the boot to wait for the network', isWaiting, WAIT_MS)
    return { second: begun }
  })

  expect((await second).cellId).toBe(world.cell.id)
  await zone(null)
})

describe('a test of the tunnels between two cells', () => {
  const WORK = workContext({})
  type Seen = { small: boolean; large: boolean }

  /** Hosts answer so, by the cell they are in. */
  const tested = (seen: Readonly<Record<string, Seen | Failure>>) => {
    const { db, compute } = world.api.gateway
    const asked: object[] = []
    const askHost: AskHost = async (cell, _host, operation, ask) => {
      asked.push({ cell: cell.name, operation, ...ask })
      const answer = seen[cell.name]!
      if (answer instanceof Failure) throw answer
      return answer as never
    }
    const both = [cells().cell(world.cell.id)!, cells().cell(south.id)!] as const
    const deps = { db, cells: cells(), clock: compute.clock, askHost }
    return testTunnels(deps, WORK, both, 1_500).then((tests) => ({ tests, asked }))
  }
  const ALL = { small: true, large: true }
  const shown = async () => {
    const found = await findOperatedCell(world.api.gateway.db, cells(), 'north')
    return found.failedTunnels.map(({ cell, failure }) => ({ cell, failure }))
  }

  test('asks both hosts at once for packets as large as the networks need', async () => {
    const { tests, asked } = await tested({ north: ALL, south: ALL })

    const common = { operation: 'tunnel-test', packetBytes: 1_558 }
    expect(asked).toEqual([
      expect.objectContaining({ ...common, cell: 'north', peer: '10.9.0.2' }),
      expect.objectContaining({ ...common, cell: 'south', peer: '10.9.0.1' }),
    ])
    const [one, other] = asked as readonly { key: number }[]
    expect(one!.key).toBe(other!.key)
    expect(tests).toMatchObject([
      { from: { cell: 'north', host: 'host-0' }, to: { cell: 'south' }, result: 'ok' },
      { from: { cell: 'south' }, to: { cell: 'north' }, result: 'ok' },
    ])
    expect(await shown()).toEqual([])
  })

  test('is made by hosts that are up', async () => {
    await know(south, { version: 11, isUp: false })
    await expect(tested({ north: ALL, south: ALL })).rejects.toThrow('No host of cell south is up.')
    await know(south, { version: 12 })
    expect((await tested({ north: ALL, south: ALL })).tests).toHaveLength(2)
  })

  test.each<[string, Record<string, Seen>, string[], string]>([
    [
      'packets of the full size from south',
      { north: { small: true, large: false }, south: ALL },
      ['ok', 'failed'],
      'Packets of 1558 bytes from host-1 (10.9.0.2) to host-0 (10.9.0.1) are lost; small ones arrive.',
    ],
    [
      'all packets from north',
      { north: ALL, south: { small: false, large: false } },
      ['failed', 'ok'],
      'No packet from host-0 (10.9.0.1) to host-1 (10.9.0.2) arrives. Let UDP port 6081 pass',
    ],
  ])(
    'that loses %s keeps networks apart, until one succeeds',
    async (_what, seen, results, message) => {
      const { tests } = await tested(seen)

      expect(tests.map(({ result }) => result)).toEqual(results)
      const failure = tests.find(({ result }) => result === 'failed')!.detail
      expect(failure).toContain(message)
      expect(await shown()).toEqual([{ cell: 'south', failure }])
      expect(cells().cell(south.id)!.cannotTunnelTo).toEqual(new Set([world.cell.id]))

      // A host that does not answer says nothing of the network.
      const silent = new Failure('unavailable', 'A host of cell south did not answer.')
      const unknown = await tested({ north: { small: false, large: false }, south: silent })
      expect(unknown.tests.map(({ result, detail }) => [result, detail])).toEqual([
        ['unknown', silent.message],
        ['unknown', silent.message],
      ])
      expect(await shown()).toHaveLength(1)

      await tested({ north: ALL, south: ALL })
      expect(await shown()).toEqual([])
      expect(cells().cell(south.id)!.cannotTunnelTo.size).toBe(0)
    },
  )
})

test('a cell that has left is in no test any more', async () => {
  const { db } = world.api.gateway
  const gone = newId<CellId>()
  const cellIds = [world.cell.id, gone].toSorted() as [CellId, CellId]
  const testedAt = new Date()
  await db.transaction((tx) => recordTunnel(tx, { cellIds, failure: 'cut', testedAt }))
  expect((await failedTunnels(db)).get(gone)).toEqual(new Set([world.cell.id]))

  await db.transaction((tx) => removeCell(tx, gone))

  expect(await failedTunnels(db)).toEqual(new Map())
})

test('a server gets no NIC on a network that is in cells its own cannot tunnel to', async () => {
  const { db } = world.api.gateway
  const [one, other] = [await freshNetwork(), await freshNetwork()]
  await favoured(world.cell)
  const here = await boot(one)
  await favoured(south)
  const there = await boot(other)
  await zone('south-west')

  const body = { interfaceAttachment: { net_id: other } }
  const refused = await user.call<{ badRequest: { message: string } }>('attachServerInterface', {
    body,
    params: { server_id: here.id },
  })

  expect((await findServer(db, there.id))?.cellId).toBe(south.id)
  expect(refused.status).toBe(400)
  expect(refused.body.badRequest.message).toContain("network 'blue' is in")
  await zone(null)
})
