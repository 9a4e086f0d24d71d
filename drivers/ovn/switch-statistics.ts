import type {
  InterfaceCounters,
  NetworkStatistics,
  PortStatistics,
  TunnelStatistics,
} from '../network-statistics.ts'
import type { OvnHostSettings } from './host-settings.ts'
import { OVS_DATABASE } from './integration-bridge.ts'
import { OvsdbConnection } from './ovsdb/connection.ts'

type Entries = ReadonlyMap<string, string | number>
type RowOnWire = Readonly<Record<string, unknown>>

const PORT_COLUMNS = ['external_ids', 'interfaces']
const INTERFACE_COLUMNS = ['_uuid', 'bfd_status', 'external_ids', 'options', 'statistics']

/**
 * Reads the counters of a host's Open vSwitch, by one request each time: it writes them every five seconds
 * (`stats-update-interval`), and a replica would follow all of them always.
 */
export function switchStatistics({
  ovsDatabase: address = OVS_DATABASE,
}: OvnHostSettings): NetworkStatistics {
  return {
    read: async (signal) => {
      const ignored = () => undefined
      using connection = await OvsdbConnection.open({
        address,
        onNotification: ignored,
        onClosed: ignored,
      })
      const select = (table: string, columns: readonly string[]) => {
        return { op: 'select', table, where: [], columns }
      }
      const questions = [select('Port', PORT_COLUMNS), select('Interface', INTERFACE_COLUMNS)]
      const answer = await connection.call('transact', ['Open_vSwitch', ...questions], signal)
      const [ports, interfaces] = answer as readonly { readonly rows: readonly RowOnWire[] }[]
      return statisticsOf(ports!.rows, interfaces!.rows)
    },
  }
}

function statisticsOf(switchPorts: readonly RowOnWire[], interfaces: readonly RowOnWire[]) {
  const chassisOf = new Map(
    switchPorts.flatMap((row) => {
      const chassis = entriesOf(row, 'external_ids').get('ovn-chassis-id')
      const [, uuid] = row['interfaces'] as readonly [string, string]
      return chassis === undefined ? [] : [[uuid, chassisName(String(chassis))] as const]
    }),
  )
  const ports: PortStatistics[] = []
  const tunnels: TunnelStatistics[] = []
  for (const row of interfaces) {
    const [, uuid] = row['_uuid'] as readonly [string, string]
    const statistics = entriesOf(row, 'statistics')
    const counted = { received: counters(statistics, 'rx'), sent: counters(statistics, 'tx') }
    const portId = entriesOf(row, 'external_ids').get('iface-id')
    const remoteHost = chassisOf.get(uuid)
    if (portId !== undefined) ports.push({ portId: String(portId), ...counted })
    if (remoteHost === undefined) continue
    const address = String(entriesOf(row, 'options').get('remote_ip') ?? '')
    const state = entriesOf(row, 'bfd_status').get('state')
    tunnels.push({
      remoteHost,
      address,
      isUp: state === undefined ? null : state === 'up',
      ...counted,
    })
  }
  return { ports, tunnels }
}

/** From `CHASSIS@ADDRESS`, as ovn-controller writes it, with more behind it in later versions. */
function chassisName(id: string): string {
  return id.split('@')[0] ?? id
}

function counters(statistics: Entries, direction: 'rx' | 'tx'): InterfaceCounters {
  const of = (what: string) => Number(statistics.get(`${direction}_${what}`) ?? 0)
  const [packets, bytes, dropped, errors] = ['packets', 'bytes', 'dropped', 'errors'].map(of)
  return { packets: packets!, bytes: bytes!, dropped: dropped!, errors: errors! }
}

/** A map as OVSDB sends it (RFC 7047, section 5.1). */
function entriesOf(row: RowOnWire, column: string): Entries {
  const [, entries] = row[column] as readonly ['map', readonly [string, string | number][]]
  return new Map(entries)
}
