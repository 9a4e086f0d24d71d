import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type {
  NetworkState,
  WireNetwork,
  WirePort,
  WireRouter,
  WireSubnet,
} from '#openapi/wire/network.ts'

/** A host of the cell, as its own ovn-controller describes it. */
export interface OvnHost {
  /** Its name in OVN's databases, which is its id. */
  readonly chassis: string
  /** The address at which its tunnels end. */
  readonly encapAddress: string
  /** The physical networks for which it has a bridge. */
  readonly physicalNetworks: readonly string[]
  /** False for a host that does not answer: it cannot be a gateway. */
  readonly isAlive: boolean
}

/** The networks of a cell, with what the cell alone knows of its servers. */
export interface CellNetworks extends NetworkState {
  /** By port, the host that its guest is moving to while it runs. Absent: none is. */
  readonly destinations?: ReadonlyMap<string, string>
  /** Ports of `destinations` whose guests run there already. Absent: none. */
  readonly arrived?: ReadonlySet<string>
}

/** The state indexed by the keys of its look-ups. Objects that refer to missing ones are left out. */
export interface NetworkIndex {
  readonly state: CellNetworks
  readonly hosts: readonly OvnHost[]
  readonly networks: ReadonlyMap<string, WireNetwork>
  readonly subnets: ReadonlyMap<string, WireSubnet>
  /** The ports in a data plane, by id. */
  readonly ports: ReadonlyMap<string, WirePort>
  readonly subnetsOf: (networkId: string) => readonly WireSubnet[]
  readonly portsOf: (networkId: string) => readonly WirePort[]
  /** Its interfaces, without the gateway. */
  readonly interfacesOf: (router: WireRouter) => readonly WirePort[]
}

export const ROUTER_INTERFACE = 'network:router_interface'
export const ROUTER_GATEWAY = 'network:router_gateway'
/** The owner of a port that only holds an address, for which a router answers. */
const FLOATING_IP = 'network:floatingip'

/** The state by the ids that the rows need, computed once for all rows. */
export function indexNetworks(state: CellNetworks, hosts: readonly OvnHost[]): NetworkIndex {
  const networks = byId(state.networks)
  const subnets = byId(state.subnets.filter(({ networkId }) => networks.has(networkId)))
  const inDataPlane = ({ networkId, deviceOwner }: WirePort) =>
    networks.has(networkId) && deviceOwner !== FLOATING_IP
  const ports = byId(state.ports.filter(inDataPlane))
  const subnetsByNetwork = Map.groupBy(subnets.values(), ({ networkId }) => networkId)
  const portsByNetwork = Map.groupBy(ports.values(), ({ networkId }) => networkId)
  const interfaces = Map.groupBy(
    [...ports.values()].filter(({ deviceOwner }) => deviceOwner === ROUTER_INTERFACE),
    ({ deviceId }) => deviceId,
  )
  return {
    state,
    hosts,
    networks,
    subnets,
    ports,
    subnetsOf: (networkId) => subnetsByNetwork.get(networkId) ?? [],
    portsOf: (networkId) => portsByNetwork.get(networkId) ?? [],
    interfacesOf: ({ id }) => interfaces.get(id) ?? [],
  }
}

function byId<T extends { readonly id: string }>(objects: readonly T[]): ReadonlyMap<string, T> {
  return new Map(objects.map((each) => [each.id, each]))
}

export function isIpv6(text: string): boolean {
  return text.includes(':')
}

/** For example 10.0.0.5/24: the address with the prefix length of its subnet; undefined for an unknown subnet. */
export function withPrefix(
  { subnets }: NetworkIndex,
  { subnetId, address }: WirePort['fixedIps'][number],
): string | undefined {
  const cidr = subnets.get(subnetId)?.cidr
  return cidr === undefined ? undefined : `${address}/${cidr.slice(cidr.indexOf('/') + 1)}`
}

export function isRouterPort({ deviceOwner }: WirePort): boolean {
  return deviceOwner === ROUTER_INTERFACE || deviceOwner === ROUTER_GATEWAY
}

/** True for a port whose addresses count as those of its security groups' members. */
export function isGroupMember(port: WirePort): boolean {
  return port.hasPortSecurity && !isRouterPort(port) && port.deviceOwner !== METADATA_PORT_OWNER
}

/**
 * True for a port whose guest is restricted to its addresses and security groups. OVN's own ports are not, and neither
 * are those of machines: OVN sees only the packets that cross one of its hosts.
 */
export function isFiltered(port: WirePort): boolean {
  return isGroupMember(port) && port.isMachine !== true
}

/** True for a port of a machine of this cell, which is behind a bridge of the site that hosts map. */
export function isExternal({ networks }: NetworkIndex, port: WirePort): boolean {
  const isHere = port.hostId !== null && port.remoteHostId === null
  return port.isMachine === true && isHere && networks.get(port.networkId)!.physicalNetwork !== null
}
