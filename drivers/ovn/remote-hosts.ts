import type { NetworkState } from '#openapi/wire/network.ts'
import { identityOf } from './difference.ts'
import { ID_KEY } from './northbound/rows.ts'
import type { Operation, Table } from './ovsdb/database.ts'
import { type Atom, encodeReference, type Row, textOf, type ValueMap } from './ovsdb/values.ts'

const ENCAP_TYPE = 'geneve'

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
    // A host of this cell: it is never both.
    return isElsewhere(row) ? repairHost(southbound, uuid, row, host) : []
  })
  const removed = [...known.values()].flatMap(({ uuid, row }) =>
    isOwn(row) && !addressOf.has(textOf(row, 'name'))
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

/** False for a row of another writer, such as ovn-ic or a host of this cell. */
function isOwn(row: Row): boolean {
  return identityOf(row) !== undefined
}

/** True for a row of a host in another cell, also if someone removed its mark. */
export function isElsewhere(row: Row): boolean {
  return isRemote(row) || isOwn(row)
}

function isRemote(row: Row): boolean {
  return (row['other_config'] as ValueMap)['is-remote'] === 'true'
}

/** Where the tunnels of a host end, by its row. */
export function encapAddresses(southbound: Southbound, row: Row): readonly string[] {
  return encapsOf(southbound, row).map((encap) => textOf(encap, 'ip'))
}

function encapsOf(southbound: Southbound, row: Row): readonly (Row | undefined)[] {
  const encaps = southbound.table('Encap')
  return (row['encaps'] as readonly Atom[]).map((each) => encaps.get(String(each)))
}

type RemoteHost = NetworkState['remoteHosts'][number]

function insertHost(host: RemoteHost): readonly Operation[] {
  const named = { op: 'insert', table: 'Chassis', 'uuid-name': insertName('chassis', host.id) }
  const row = { name: host.id, ...columnsOf(host), ...newEncap(host) }
  return [insertEncap(host), { ...named, row }]
}

/** Empty for a row that is as it must be. An old encapsulation is removed with the last reference to it. */
function repairHost(
  southbound: Southbound,
  uuid: string,
  row: Row,
  host: RemoteHost,
): readonly Operation[] {
  const ids = row['external_ids'] as ValueMap
  const isMarked = isRemote(row) && ids[ID_KEY] === host.id && row['hostname'] === host.name
  const ends = encapsOf(southbound, row).map(
    (encap) => `${textOf(encap, 'type')} ${textOf(encap, 'ip')}`,
  )
  const isReached = ends.join() === `${ENCAP_TYPE} ${host.encapAddress}`
  if (isMarked && isReached) return []
  const where = [['_uuid', '==', encodeReference(uuid)]]
  const change = { ...columnsOf(host), ...(!isReached && newEncap(host)) }
  const update = { op: 'update', table: 'Chassis', where, row: change }
  return isReached ? [update] : [insertEncap(host), update]
}

function columnsOf({ id, name }: RemoteHost) {
  return {
    hostname: name,
    other_config: ['map', [['is-remote', 'true']]],
    external_ids: ['map', [[ID_KEY, id]]],
  }
}

function newEncap({ id }: RemoteHost) {
  return { encaps: ['named-uuid', insertName('encap', id)] }
}

function insertEncap({ id, encapAddress }: RemoteHost): Operation {
  return {
    op: 'insert',
    table: 'Encap',
    'uuid-name': insertName('encap', id),
    row: {
      type: ENCAP_TYPE,
      ip: encapAddress,
      chassis_name: id,
      options: ['map', [['csum', 'true']]],
    },
  }
}

function insertName(kind: string, id: string): string {
  return `${kind}_${id.replaceAll('-', '_')}`
}
