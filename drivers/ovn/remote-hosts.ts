import type { NetworkState } from '#openapi/wire/network.ts'
import { ID_KEY } from './northbound/rows.ts'
import type { Operation, Table } from './ovsdb/database.ts'
import { type Atom, encodeReference, type Row, textOf, type ValueMap } from './ovsdb/values.ts'

interface Southbound {
  table(name: string): Table
}

/**
 * The difference between the southbound database and the wanted remote hosts and ports: hosts of other cells, marked as
 * remote (ovn-sb(5), `is-remote`), and the bindings of ports on them. ovn-controller then tunnels to them by itself.
 */
export function remoteDifference(
  southbound: Southbound,
  { remoteHosts, ports }: NetworkState,
): readonly Operation[] {
  const known = new Map<string, { readonly uuid: string; readonly row: Row }>()
  for (const [uuid, row] of southbound.table('Chassis'))
    known.set(textOf(row, 'name'), { uuid, row })
  const addressOf = new Map(remoteHosts.map(({ id, encapAddress }) => [id, encapAddress]))
  const hosts = remoteHosts.flatMap((host) => {
    const found = known.get(host.id)
    if (found === undefined) return insertHost(host)
    const { uuid, row } = found
    if (!isRemote(row)) return [] // A host of this cell: it is never both.
    const isSame = encapAddresses(southbound, row).join() === host.encapAddress
    return isSame ? [] : moveHost(uuid, host)
  })
  const removed = [...known.values()].flatMap(({ uuid, row }) =>
    isRemote(row) && isOwn(row) && !addressOf.has(textOf(row, 'name'))
      ? [{ op: 'delete', table: 'Chassis', where: [['_uuid', '==', encodeReference(uuid)]] }]
      : [],
  )
  const hostOf = new Map(ports.map(({ id, remoteHostId }) => [id, remoteHostId]))
  const bindings = [...southbound.table('Port_Binding')].flatMap(([uuid, row]) => {
    const hostId = hostOf.get(textOf(row, 'logical_port')) ?? null
    if (hostId === null || row['type'] !== 'remote' || !addressOf.has(hostId)) return []
    const chassis = known.get(hostId)?.uuid ?? insertName('chassis', hostId)
    if (row['chassis'] === chassis) return []
    const where = [['_uuid', '==', encodeReference(uuid)]]
    return [
      { op: 'update', table: 'Port_Binding', where, row: { chassis: encodeReference(chassis) } },
    ]
  })
  return [...hosts, ...removed, ...bindings]
}

/** True for a row of a host in another cell. */
/** False for a row of another writer, such as ovn-ic. */
function isOwn(row: Row): boolean {
  return (row['external_ids'] as ValueMap)[ID_KEY] !== undefined
}

export function isRemote(row: Row): boolean {
  return (row['other_config'] as ValueMap)['is-remote'] === 'true'
}

/** Where the tunnels of a host end, by its row. */
export function encapAddresses(southbound: Southbound, row: Row): readonly string[] {
  const encaps = southbound.table('Encap')
  return (row['encaps'] as readonly Atom[]).map((each) => textOf(encaps.get(String(each)), 'ip'))
}

type RemoteHost = NetworkState['remoteHosts'][number]

function insertHost(host: RemoteHost): readonly Operation[] {
  const config = [['is-remote', 'true']]
  return [
    insertEncap(host),
    {
      op: 'insert',
      table: 'Chassis',
      'uuid-name': insertName('chassis', host.id),
      row: {
        name: host.id,
        hostname: host.name,
        encaps: ['named-uuid', insertName('encap', host.id)],
        other_config: ['map', config],
        external_ids: ['map', [[ID_KEY, host.id]]],
      },
    },
  ]
}

/** The old row is removed with the last reference to it. */
function moveHost(uuid: string, host: RemoteHost): readonly Operation[] {
  const encaps = ['named-uuid', insertName('encap', host.id)]
  const where = [['_uuid', '==', encodeReference(uuid)]]
  return [insertEncap(host), { op: 'update', table: 'Chassis', where, row: { encaps } }]
}

function insertEncap({ id, encapAddress }: RemoteHost): Operation {
  return {
    op: 'insert',
    table: 'Encap',
    'uuid-name': insertName('encap', id),
    row: {
      type: 'geneve',
      ip: encapAddress,
      chassis_name: id,
      options: ['map', [['csum', 'true']]],
    },
  }
}

function insertName(kind: string, id: string): string {
  return `${kind}_${id.replaceAll('-', '_')}`
}
