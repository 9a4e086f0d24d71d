import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireNetwork,
  wirePort,
  wireRouter,
  wireSubnet,
} from '#test/env/network-state.ts'
import { OvsdbServer, whyNoOvsdb } from '#test/env/ovsdb-server.ts'
import { OvnEngine, type OvnEngineOptions, type PortBinding } from './engine.ts'
import { ROUTER_GATEWAY } from './northbound/network-index.ts'
import { OvsdbDatabase } from './ovsdb/database.ts'
import { textOf } from './ovsdb/values.ts'

const log = createLogger('engine', 'silent')
const why = whyNoOvsdb()
const TABLES = {
  Logical_Switch: ['name', 'external_ids'],
  Logical_Switch_Port: ['name', 'type', 'options', 'external_ids'],
  Gateway_Chassis: ['chassis_name'],
  NB_Global: ['nb_cfg'],
  Chassis: ['name', 'hostname', 'encaps', 'other_config', 'external_ids'],
  Encap: ['ip', 'type', 'chassis_name'],
  Port_Binding: ['logical_port', 'chassis', 'up'],
}

function stateOf(...addresses: readonly string[]): NetworkState {
  const network = wireNetwork()
  const subnet = wireSubnet(network, '10.0.0.0/24')
  const ports = addresses.map((address) => wirePort(subnet, address))
  return { ...EMPTY_STATE, networks: [network], subnets: [subnet], ports }
}

/** Databases without northd: what that and hosts write, a test writes itself. */
describe.skipIf(why !== undefined)(`the engine of a cell${why ?? ''}`, () => {
  let servers: readonly [OvsdbServer, OvsdbServer]
  let databases: readonly [OvsdbDatabase, OvsdbDatabase]
  let engine: OvnEngine
  let reported: PortBinding[]
  const signal = () => AbortSignal.timeout(20_000)
  const options = (): OvnEngineOptions => ({
    northbound: servers[0].address,
    southbound: servers[1].address,
    clock: systemClock,
    log,
    onPort: (binding) => reported.push(binding),
  })
  const rows = (database: OvsdbDatabase, table: string) => [...database.table(table).values()]
  const switches = () => rows(databases[0], 'Logical_Switch').map(({ name }) => name)

  beforeEach(async () => {
    reported = []
    servers = await Promise.all([
      OvsdbServer.start('OVN_Northbound'),
      OvsdbServer.start('OVN_Southbound'),
    ])
    const open = (server: OvsdbServer, name: string) =>
      OvsdbDatabase.open({ address: server.address, name, tables: TABLES, clock: systemClock, log })
    databases = await Promise.all([
      open(servers[0], 'OVN_Northbound'),
      open(servers[1], 'OVN_Southbound'),
    ])
    engine = await OvnEngine.open(options())
  })
  afterEach(async () => {
    await engine?.[Symbol.asyncDispose]()
    for (const each of [...(databases ?? []), ...(servers ?? [])]) await each[Symbol.asyncDispose]()
  })

  /** A datapath, the host `here`, and what northd makes of these ports. */
  async function bind(state: NetworkState, type = ''): Promise<void> {
    const insert = (table: string, name: string, row: object) => ({
      op: 'insert',
      table,
      'uuid-name': name,
      row,
    })
    await databases[1].transact([
      insert('Datapath_Binding', 'datapath', { tunnel_key: 1 }),
      insert('Encap', 'encap', { type: 'geneve', ip: '10.255.0.1', chassis_name: 'here' }),
      insert('Chassis', 'host', { name: 'here', encaps: ['named-uuid', 'encap'] }),
      ...state.ports.map(({ id, tunnelKey }, index) =>
        insert('Port_Binding', `port${index}`, {
          logical_port: id,
          type,
          tunnel_key: tunnelKey,
          datapath: ['named-uuid', 'datapath'],
          up: false,
        }),
      ),
    ])
  }
  const setPort = (id: string, row: object) =>
    databases[1].transact([
      { op: 'update', table: 'Port_Binding', where: [['logical_port', '==', id]], row },
    ])

  test('it writes nothing before the first state, and the state when it comes', async () => {
    await databases[0].transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: 'theirs' } },
    ])
    await engine[Symbol.asyncDispose]()
    engine = await OvnEngine.open(options())
    expect(switches()).toEqual(['theirs'])

    const state = stateOf('10.0.0.5')
    await engine.apply(state, signal())
    await expect.poll(switches).toContain(`neutron-${state.networks[0]!.id}`)
    await engine.apply(EMPTY_STATE, signal())
    await expect.poll(switches).toEqual(['theirs'])
  })

  test('a host that is known to be down is no gateway, though it answers', async () => {
    const down = new Set<string>()
    await engine[Symbol.asyncDispose]()
    engine = await OvnEngine.open({
      ...options(),
      askHostsMs: 20,
      isDown: (host) => down.has(host),
    })
    const hosts = ['one', 'two'].flatMap((name, place) => [
      {
        ...{ op: 'insert', table: 'Encap', 'uuid-name': `e${place}` },
        row: { type: 'geneve', ip: `10.255.0.${place + 1}`, chassis_name: name },
      },
      {
        ...{ op: 'insert', table: 'Chassis' },
        row: { name, encaps: ['named-uuid', `e${place}`] },
      },
    ])
    await databases[1].transact(hosts)
    const outside = wireNetwork({ isExternal: true })
    const subnet = wireSubnet(outside, '203.0.113.0/24')
    const { id } = wireRouter()
    const owner = { deviceId: id, deviceOwner: ROUTER_GATEWAY }
    const gateway = wirePort(subnet, '203.0.113.9', owner)
    const router = wireRouter({ id, gateway: { portId: gateway.id, hasSnat: false } })
    const objects = { networks: [outside], subnets: [subnet], ports: [gateway], routers: [router] }
    const gateways = () =>
      rows(databases[0], 'Gateway_Chassis')
        .map((row) => textOf(row, 'chassis_name'))
        .toSorted((a, b) => a.localeCompare(b))

    await engine.apply({ ...EMPTY_STATE, ...objects }, signal())
    await expect.poll(gateways).toEqual(['one', 'two'])

    down.add('one')
    await expect.poll(gateways).toEqual(['two'])
    down.clear()
    await expect.poll(gateways).toEqual(['one', 'two'])
  })

  test('states that come at once end with the last of them', async () => {
    const states = Array.from({ length: 10 }, (_, index) => stateOf(`10.0.0.${index + 2}`))

    await Promise.all(states.map((state) => engine.apply(state, signal())))

    await expect
      .poll(() => rows(databases[0], 'Logical_Switch_Port').map(({ name }) => name))
      .toEqual([states.at(-1)!.ports[0]!.id])
  })

  test('a row removed by hand is there again', async () => {
    const state = stateOf('10.0.0.5')
    await engine.apply(state, signal())
    await databases[0].transact([{ op: 'delete', table: 'Logical_Switch', where: [] }])

    await expect.poll(switches).toEqual([`neutron-${state.networks[0]!.id}`])
  })

  test('while the database is away a state is refused, and written when it is back', async () => {
    await servers[0].down()
    const state = stateOf('10.0.0.5')
    await expect
      .poll(() => engine.apply(state, signal()).then(String, (error: Error) => error))
      .toMatchObject({ kind: 'unavailable' })

    await servers[0].up()

    await expect.poll(switches).toEqual([`neutron-${state.networks[0]!.id}`])
  })

  test('ports are reported when they come up, move and go down, once each', async () => {
    const state = stateOf('10.0.0.5', '10.0.0.6')
    const [first, second] = state.ports
    await bind(state)
    await engine.apply({ ...state, ports: [first!] }, signal())
    const host = [...databases[1].table('Chassis').keys()][0]!
    await expect.poll(() => reported).toEqual([{ portId: first!.id, isUp: false, chassis: null }])

    await setPort(first!.id, { chassis: ['uuid', host] })
    await expect.poll(() => reported.at(-1)).toMatchObject({ isUp: false, chassis: 'here' })
    await setPort(first!.id, { up: true })
    await expect.poll(() => reported.at(-1)).toMatchObject({ isUp: true, chassis: 'here' })
    await setPort(second!.id, { chassis: ['uuid', host], up: true })
    await setPort(first!.id, { chassis: ['set', []] })
    await expect.poll(() => reported.at(-1)).toMatchObject({ isUp: false, chassis: null })

    expect(
      reported.every(({ portId }) => portId === first!.id),
      'the other is in no state',
    ).toBe(true)
    expect(reported).toHaveLength(4)
    await engine.apply(state, signal())
    expect(reported.at(-1)).toEqual({ portId: second!.id, isUp: true, chassis: 'here' })
  })

  test('a port is at the host that its guest moves to once the guest has announced itself there', async () => {
    const base = stateOf('10.0.0.5')
    const port = { ...base.ports[0]!, hostId: 'here' }
    const destinations = new Map([[port.id, 'there']])
    await bind(base)
    const asked = () => {
      const [row] = rows(databases[0], 'Logical_Switch_Port')
      const options = row?.['options'] as Readonly<Record<string, string>> | undefined
      return [options?.['requested-chassis'], options?.['activation-strategy']]
    }
    const activated = (...hosts: readonly string[]) =>
      setPort(port.id, { options: ['map', [['additional-chassis-activated', hosts.join(',')]]] })

    await engine.apply({ ...base, ports: [port], destinations }, signal())
    await expect.poll(asked).toEqual(['here,there', 'rarp'])
    await activated('elsewhere')
    await activated('elsewhere', 'there')
    await expect.poll(asked).toEqual(['there,here', undefined])
    await activated()
    await expect.poll(asked).toEqual(['here,there', 'rarp'])

    await activated('there')
    await expect.poll(asked).toEqual(['there,here', undefined])
    await engine.apply({ ...base, ports: [{ ...port, hostId: 'there' }] }, signal())
    await expect.poll(asked).toEqual(['there', undefined])
  })

  test('ports of other cells are bound to their hosts, which come, move and go', async () => {
    const remote = { id: newId(), name: 'far', encapAddress: '10.255.9.1' }
    const base = stateOf('10.0.0.5')
    const port = { ...base.ports[0]!, remoteHostId: remote.id }
    const state = { ...base, ports: [port], remoteHosts: [remote] }
    await bind(state, 'remote')
    const chassis = () => rows(databases[1], 'Chassis').map(({ name }) => name)
    const addresses = () => rows(databases[1], 'Encap').map(({ ip }) => ip)
    const boundTo = () => {
      const [row] = rows(databases[1], 'Port_Binding')
      return databases[1].table('Chassis').get(row!['chassis'] as string)?.['name']
    }

    await engine.apply(state, signal())
    await expect.poll(boundTo).toBe(remote.id)
    expect(rows(databases[0], 'Logical_Switch_Port')[0]!['type']).toBe('remote')

    const moved = { ...remote, encapAddress: '10.255.9.2' }
    await engine.apply({ ...state, remoteHosts: [moved] }, signal())
    await expect.poll(addresses).toEqual(expect.arrayContaining(['10.255.0.1', '10.255.9.2']))
    expect(addresses()).toHaveLength(2)

    await engine.apply({ ...state, remoteHosts: [] }, signal())
    await expect.poll(chassis).toEqual(['here'])
    expect(reported, 'the other cell tells of its own ports').toEqual([])
  })

  test('rows of remote hosts that were changed by hand are repaired, and go with their hosts', async () => {
    const remote = { id: newId(), name: 'far', encapAddress: '10.255.9.1' }
    const base = stateOf('10.0.0.5')
    const port = { ...base.ports[0]!, remoteHostId: remote.id }
    const state = { ...base, ports: [port], remoteHosts: [remote] }
    await bind(state, 'remote')
    await engine.apply(state, signal())
    const change = (
      table: string,
      row: object,
      where: readonly unknown[] = [['name', '==', remote.id]],
    ) => databases[1].transact([{ op: 'update', table, where, row }])
    const found = () => {
      const row = rows(databases[1], 'Chassis').find(({ name }) => name === remote.id)
      const [encap] = (row?.['encaps'] ?? []) as readonly string[]
      const { ip, type } = databases[1].table('Encap').get(encap ?? '') ?? {}
      return { ...row, encaps: [ip, type] }
    }
    const whole = {
      ...{ name: remote.id, hostname: 'far', encaps: ['10.255.9.1', 'geneve'] },
      ...{ other_config: { 'is-remote': 'true' }, external_ids: { 'weir:id': remote.id } },
    }
    await expect.poll(found).toEqual(whole)

    const ofEncap = [['chassis_name', '==', remote.id]]
    const changes = [
      () => change('Chassis', { other_config: ['map', []] }),
      () => change('Chassis', { hostname: 'other', external_ids: ['map', []] }),
      () => change('Encap', { ip: '10.255.9.9' }, ofEncap),
      () => change('Encap', { type: 'vxlan' }, ofEncap),
      () => change('Chassis', { name: 'renamed' }),
      () =>
        databases[1].transact([
          { op: 'delete', table: 'Chassis', where: [['name', '==', remote.id]] },
        ]),
    ]
    for (const byHand of changes) {
      await byHand()
      await expect.poll(found).toEqual(whole)
    }
    await expect.poll(() => rows(databases[1], 'Chassis')).toHaveLength(2)
    expect(rows(databases[1], 'Encap')).toHaveLength(2)

    await engine.apply({ ...state, remoteHosts: [] }, signal())
    await expect.poll(() => rows(databases[1], 'Chassis').map(({ name }) => name)).toEqual(['here'])
  })

  test('no database at the address: unavailable, with the address', async () => {
    const opening = OvnEngine.open({ ...options(), southbound: 'unix:/nothing/there' })

    await expect(opening).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('/nothing/there'),
    })
  })
})
