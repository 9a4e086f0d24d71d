import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
import { changedState, madeState } from '#test/env/made-network-state.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '#test/env/network-state.ts'
import { OvsdbServer, whyNoOvsdb } from '#test/env/ovsdb-server.ts'
import { difference } from './difference.ts'
import type { OvnHost } from './northbound/network-index.ts'
import { ID_KEY, NORTHBOUND_TABLES } from './northbound/rows.ts'
import { wantedRows } from './northbound/wanted-rows.ts'
import { type Operation, OvsdbDatabase } from './ovsdb/database.ts'
import type { Row, ValueMap } from './ovsdb/values.ts'

const why = whyNoOvsdb()
const HOSTS: readonly OvnHost[] = ['one', 'two'].map((chassis) => ({
  chassis,
  encapAddress: '10.9.0.1',
  physicalNetworks: ['physnet'],
  isAlive: true,
}))

describe.skipIf(why !== undefined)(`the difference to a northbound database${why ?? ''}`, () => {
  let server: OvsdbServer
  let database: OvsdbDatabase

  beforeAll(async () => {
    server = await OvsdbServer.start('OVN_Northbound')
    database = await OvsdbDatabase.open({
      address: server.address,
      name: 'OVN_Northbound',
      tables: NORTHBOUND_TABLES,
      clock: systemClock,
      log: createLogger('difference', 'silent'),
    })
  })
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  const to = (state: NetworkState) => difference(database, wantedRows(state, HOSTS))
  /** The database tells of a change before it answers: the replica is as the transaction left it. */
  const apply = async (state: NetworkState): Promise<readonly Operation[]> => {
    const operations = to(state)
    if (operations.length > 0) await database.transact(operations)
    return operations
  }
  /** Every row of ours, with references by identity. */
  const content = () => {
    const tables = Object.keys(NORTHBOUND_TABLES)
    const nameOf = new Map(
      tables.flatMap((table) =>
        [...database.table(table)].map(([uuid, row]) => [uuid, `${table} ${idOf(row)}`] as const),
      ),
    )
    const plain = (value: unknown): unknown => {
      if (Array.isArray(value)) return new Set(value.map(plain))
      return typeof value === 'string' ? (nameOf.get(value) ?? value) : value
    }
    return tables.flatMap((table) =>
      [...database.table(table).values()]
        .filter((row) => idOf(row) !== undefined)
        .map((row) => ({
          row: `${table} ${idOf(row)}`,
          ...Object.fromEntries(Object.entries(row).map(([name, each]) => [name, plain(each)])),
        }))
        .toSorted((a, b) => (a.row < b.row ? -1 : 1)),
    )
  }

  test('from any earlier content, the database ends like a fresh one', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const before = madeState(seed)
      const after = seed % 2 === 0 ? madeState(seed + 1_000) : changedState(before, seed)
      await apply(EMPTY_STATE)
      await apply(after)
      const fresh = content()
      expect(to(after), `seed ${seed}: rows that are as wanted are not written`).toEqual([])

      await apply(EMPTY_STATE)
      await apply(before)
      await apply(after)
      expect(content(), `seed ${seed}`).toEqual(fresh)
      expect(to(after), `seed ${seed}`).toEqual([])
    }
    await apply(EMPTY_STATE)
    expect(content().map(({ row }) => row)).toSatisfy((rows: string[]) =>
      rows.every((row) => row.includes('neutron_pg_drop')),
    )
  })

  /** A network with a port in a group, and its rows. */
  const small = () => {
    const network = wireNetwork()
    const subnet = wireSubnet(network, '10.0.0.0/24', { gateway: '10.0.0.1' })
    const group = wireGroup(wireRule({ protocol: 6, portMin: 22, portMax: 22 }))
    const port = wirePort(subnet, '10.0.0.5', { securityGroupIds: [group.id] })
    const parts = { networks: [network], subnets: [subnet], ports: [port], securityGroups: [group] }
    return { state: { ...EMPTY_STATE, ...parts }, network, port, group }
  }
  const ofName = (table: string, name: string) =>
    [...database.table(table).values()].filter((row) => row['name'] === name)

  test('rows that are not ours stay, and stay in the rows of ours that hold them', async () => {
    const { state, network, port } = small()
    await apply(state)
    const name = `neutron-${network.id}`
    const insert = (table: string, row: object, uuidName: string) => ({
      op: 'insert',
      table,
      'uuid-name': uuidName,
      row,
    })
    await database.transact([
      insert('Logical_Switch', { name: 'theirs' }, 'alone'),
      insert('Logical_Switch_Port', { name: 'theirs-in-ours' }, 'inside'),
      {
        op: 'mutate',
        table: 'Logical_Switch',
        where: [['name', '==', name]],
        mutations: [['ports', 'insert', ['named-uuid', 'inside']]],
      },
    ])

    expect(to(state)).toEqual([])
    await apply({ ...state, ports: [{ ...port, revision: 2, dnsName: 'new' }] })
    expect(ofName('Logical_Switch', 'theirs')).toHaveLength(1)
    expect(ofName('Logical_Switch_Port', 'theirs-in-ours')).toHaveLength(1)

    await apply({ ...state, ports: [] })
    expect(ofName('Logical_Switch_Port', port.id)).toEqual([])
    expect(ofName('Logical_Switch_Port', 'theirs-in-ours')).toHaveLength(1)
    await apply(EMPTY_STATE)
    expect(ofName('Logical_Switch', 'theirs')).toHaveLength(1)
  })

  test.each([
    ['Logical_Switch_Port', { addresses: ['set', []] }],
    ['Logical_Switch_Port', { external_ids: ['map', []] }],
    ['Logical_Switch', { name: 'renamed', other_config: ['map', []] }],
    ['Logical_Switch', { external_ids: ['map', []] }],
    ['Logical_Switch', { ports: ['set', []] }],
    ['Port_Group', { acls: ['set', []] }],
    ['Port_Group', { external_ids: ['map', []] }],
    ['ACL', { match: '1', priority: 1 }],
    ['DHCP_Options', { options: ['map', []] }],
  ])('%s changed by hand to %j is as wanted again', async (table, row) => {
    const { state } = small()
    await apply(EMPTY_STATE)
    await apply(state)
    const wanted = content()
    await database.transact([{ op: 'update', table, where: [], row }])

    await apply(state)

    expect(content()).toEqual(wanted)
    expect(to(state)).toEqual([])
  })

  test('a second row of one identity goes', async () => {
    const { state, network } = small()
    await apply(state)
    const [row] = ofName('Logical_Switch', `neutron-${network.id}`) as [Row]
    const ids = ['map', Object.entries(row['external_ids'] as ValueMap)]
    const twin = { name: 'twin', external_ids: ids }
    await database.transact([{ op: 'insert', table: 'Logical_Switch', row: twin }])

    await apply(state)

    expect(
      [...database.table('Logical_Switch').values()].filter((each) => idOf(each) === network.id),
    ).toHaveLength(1)
    expect(to(state)).toEqual([])
  })

  test('a row that was changed meanwhile is not overwritten unseen', async () => {
    const { state, port } = small()
    await apply(state)
    const renewed = { ...state, ports: [{ ...port, revision: 3, name: 'renamed' }] }
    const operations = to(renewed)
    await apply({ ...state, ports: [{ ...port, revision: 2 }] })

    await expect(database.transact(operations)).rejects.toMatchObject({ kind: 'conflict' })
    await apply(renewed)
    const [row] = ofName('Logical_Switch_Port', port.id)
    expect(row?.['external_ids']).toMatchObject({ 'neutron:revision_number': '3' })
  })
})

function idOf(row: Row): string | undefined {
  return (row['external_ids'] as ValueMap)[ID_KEY] as string | undefined
}
