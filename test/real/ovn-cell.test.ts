import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configFromEnv } from '#cells/config.ts'
import { type RunningCell, startCell } from '#cells/context.ts'
import { findHosts, insertHost } from '#cells/db/hosts.ts'
import { networkApply } from '#cells/handlers/network.ts'
import type { Host } from '#cells/hosts/host.ts'
import { systemClock } from '#common/clock.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { type RunningOvnCentral, startOvnCentral } from '#deploy/ovn/central.ts'
import { OvsdbDatabase } from '#drivers/ovn/ovsdb/database.ts'
import { NETWORK_KINDS, type NetworkChanges, type NetworkState } from '#openapi/wire/network.ts'
import { freshBus } from '#test/env/fresh-bus.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { EMPTY_STATE, wireNetwork, wirePort, wireSubnet } from '#test/env/network-state.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNoGuests(['ovn-northd', 'ovsdb-server', 'ip'])
const LOG = createLogger('test', 'silent')

describe.skipIf(why !== undefined)(`the networks of a cell in OVN${why ? `: ${why}` : ''}`, () => {
  const parts = new AsyncDisposableStack()
  let central: RunningOvnCentral
  let northbound: OvsdbDatabase
  let begin: (name: string) => Promise<RunningCell>

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-ovn-'))
    parts.defer(() => rm(folder, { recursive: true, force: true }))
    central = await startOvnCentral(join(folder, 'central'))
    parts.defer(() => central.stop())
    northbound = parts.use(
      await OvsdbDatabase.open({
        address: central.northbound,
        name: 'OVN_Northbound',
        tables: { Logical_Switch: ['name', 'ports'], Logical_Switch_Port: ['name'] },
        clock: systemClock,
        log: LOG,
      }),
    )
    const id = newId<CellId>()
    const bus = parts.use(await freshBus([id]))
    const shared = {
      CELL_ID: id,
      CELL_NAME: 'north',
      CELL_DATABASE_URL: await freshDatabase('ovn_cell'),
      CELL_SECRET_KEY: randomBytes(32).toString('hex'),
      CELL_NATS_URL: bus.url,
      CELL_NATS_CREDENTIALS_FILE: await bus.cellCredentialsFile(id),
      CELL_LOG_LEVEL: 'error',
      CELL_OVN_NORTHBOUND: central.northbound,
      CELL_OVN_SOUTHBOUND: central.southbound,
    }
    begin = (name) => startCell(configFromEnv({ ...shared, CELL_PROCESS: name }))
  })
  afterAll(() => parts[Symbol.asyncDispose]())

  const switches = () =>
    [...northbound.table('Logical_Switch').values()].map(({ name }) => name as string).toSorted()
  const ports = () =>
    [...northbound.table('Logical_Switch_Port').values()]
      .map(({ name }) => name as string)
      .toSorted()

  test('are written by one of its processes, and by another once that has ended', async () => {
    const one = await begin('one')
    await using two = await begin('two')
    const network = wireNetwork({ name: 'blue' })
    const subnet = wireSubnet(network, '10.71.0.0/24')
    const [first, second] = [wirePort(subnet, '10.71.0.11'), wirePort(subnet, '10.71.0.12')]

    const put = { networks: [network], subnets: [subnet], ports: [first] }
    await networkApply(one.cell, { generation: 1, changes: changes(put) })
    await expect.poll(switches).toEqual([`neutron-${network.id}`])
    await expect.poll(ports).toEqual([first.id])

    await networkApply(two.cell, { generation: 1, changes: changes({ ports: [second] }) })
    await expect.poll(ports).toEqual([first.id, second.id].toSorted())

    await one[Symbol.asyncDispose]()
    const gone = { ...changes({}), removed: [{ kind: 'ports' as const, id: first.id }] }
    await networkApply(two.cell, { generation: 2, changes: gone })
    await expect.poll(ports).toEqual([second.id])
  })

  test('stay as they are while no process runs, and a database that was killed is written again', async () => {
    const before = ports()
    expect(before).toHaveLength(1)
    await using three = await begin('three')
    await central.kill('northbound')
    const network = wireNetwork({ name: 'red' })
    const change = { generation: 2, changes: changes({ networks: [network] }) }
    await networkApply(three.cell, change)

    await central.start()

    await expect.poll(switches).toContain(`neutron-${network.id}`)
    expect(ports()).toEqual(before)
  })

  test('report the tunnel address and the reachable hosts of each host, until it leaves OVN', async () => {
    await using one = await begin('hosts')
    const { db } = one.cell.conductor
    const host = sampleJoinedHost()
    await insertHost(db, host)
    await using southbound = await OvsdbDatabase.open({
      address: central.southbound,
      name: 'OVN_Southbound',
      tables: { Chassis: ['name'] },
      clock: systemClock,
      log: LOG,
    })
    const mappings = ['map', [['ovn-bridge-mappings', 'physnet:br-ex']]]
    const encap = { type: 'geneve', ip: '10.255.0.9', chassis_name: host.id }
    const chassis = { name: host.id, encaps: ['named-uuid', 'e'], other_config: mappings }
    const known = async () => (await findHosts(db, [host.id]))[0]!.network

    await southbound.transact([
      { op: 'insert', table: 'Encap', 'uuid-name': 'e', row: encap },
      { op: 'insert', table: 'Chassis', row: chassis },
    ])
    await expect.poll(known).toEqual({ encapAddress: '10.255.0.9', physicalNetworks: ['physnet'] })

    await southbound.transact([
      { op: 'delete', table: 'Chassis', where: [['name', '==', host.id]] },
    ])
    await expect.poll(known).toBeNull()
  })
})

/** As it is before anything was said of its network. */
function sampleJoinedHost(): Host {
  return {
    ...{ id: newId<HostId>(), version: 1, name: 'joined', zone: 'nova', ownZone: 'nova' },
    ...{ aggregates: [], settings: null, driver: 'fake', simulated: true },
    ...{ capabilities: [], isUp: true },
    ...{ down: null, isDisabled: false, disabledReason: null, isForcedDown: false },
    ...{ isLeftAlone: false, fencedAt: null, fenceProblem: null, fenceDevice: null },
    ...{ inventory: null, network: null, startedAt: 0, lastSeenAt: 0, provider: null },
    isDeleted: false,
  }
}

function changes(put: Partial<NetworkState>): NetworkChanges {
  const all = { ...EMPTY_STATE, ...put }
  const digests = NETWORK_KINDS.flatMap((kind) =>
    all[kind].map(({ id, ...rest }) => {
      const digest = Buffer.from(String('revision' in rest ? rest.revision : 0).padEnd(8)).toString(
        'base64',
      )
      return { kind, id, digest }
    }),
  )
  return { put: all, digests, removed: [] }
}
