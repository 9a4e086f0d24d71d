import { createHash } from 'node:crypto'
import type { WirePort } from '#openapi/wire/network.ts'
import { isExternal, type NetworkIndex } from './network-index.ts'
import { externalIds, type Reference, refersTo, type WantedRow } from './rows.ts'

/** The same number as in Neutron's ML2/OVN driver. */
const GATEWAY_HOSTS_MAX = 5

/**
 * The living hosts with a bridge for the network, by names in OVN, the preferred one first; it stays the same while the
 * hosts do. `spreadBy`: differs by this; absent: the same for all networks of machines, a host with machines before others.
 */
export function gatewayHosts(
  index: NetworkIndex,
  networkId: string,
  spreadBy?: string,
): readonly string[] {
  const { physicalNetwork } = index.networks.get(networkId)!
  const withMachines = spreadBy === undefined ? hostsOfMachines(index) : undefined
  const rank = (chassis: string) => {
    const hash = createHash('sha256')
      .update(`${spreadBy ?? ''} ${chassis}`)
      .digest('hex')
    return `${withMachines?.has(chassis) === true ? 0 : 1} ${hash}`
  }
  return index.hosts
    .filter(({ isAlive }) => isAlive)
    .filter(
      ({ physicalNetworks }) =>
        physicalNetwork === null || physicalNetworks.includes(physicalNetwork),
    )
    .map(({ chassis }) => ({ chassis, rank: rank(chassis) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, GATEWAY_HOSTS_MAX)
    .map(({ chassis }) => chassis)
}

/** For each network with machines the hosts that answer them, as in Neutron: the first that lives. */
export function hostGroupRows(index: NetworkIndex): readonly WantedRow[] {
  return [...networksOfMachines(index)].toSorted().flatMap((networkId) => {
    const hosts = gatewayHosts(index, networkId)
    const members = hosts.map((chassis, position): WantedRow => {
      const id = `${networkId}_${chassis}`
      const priority = hosts.length - position
      return {
        table: 'HA_Chassis',
        id,
        columns: { chassis_name: chassis, priority, external_ids: externalIds(id, {}) },
      }
    })
    const { table, id } = hostGroupOf({ networkId })
    const group: WantedRow = {
      table,
      id,
      columns: {
        name: `neutron-extport-${networkId}`,
        ha_chassis: refersTo(...members),
        external_ids: externalIds(id, { network_id: networkId }),
      },
    }
    return [group, ...members]
  })
}

/** The group of hosts that answer the machines on the port's network. */
export function hostGroupOf({ networkId }: Pick<WirePort, 'networkId'>): Reference {
  return { table: 'HA_Chassis_Group', id: networkId }
}

const machinePorts = new WeakMap<NetworkIndex, readonly WirePort[]>()

function portsOfMachines(index: NetworkIndex): readonly WirePort[] {
  const known =
    machinePorts.get(index) ?? [...index.ports.values()].filter((port) => isExternal(index, port))
  machinePorts.set(index, known)
  return known
}

/** The networks with ports of bare-metal machines. */
export function networksOfMachines(index: NetworkIndex): ReadonlySet<string> {
  return new Set(portsOfMachines(index).map(({ networkId }) => networkId))
}

function hostsOfMachines(index: NetworkIndex): ReadonlySet<string> {
  return new Set(portsOfMachines(index).map(({ hostId }) => hostId!))
}
