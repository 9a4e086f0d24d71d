import { type Static, Type } from 'typebox'
import { FilterRule } from './firewall.ts'
import { MacAddress, Nullable, OneOf, Uuid } from './scalars.ts'

/** Of the gateway's row: grows with each change. */
const Revision = Type.Integer({ minimum: 0 })
/** An address without a prefix length. */
const Address = Type.String({ minLength: 2, maxLength: 45 })
const Cidr = Type.String({ minLength: 4, maxLength: 49 })
const PortNumber = Type.Integer({ minimum: 1, maximum: 65_535 })
const Route = Type.Object({ destination: Cidr, nexthop: Address })

export const WireNetwork = Type.Object({
  id: Uuid,
  revision: Revision,
  name: Type.String(),
  projectId: Type.String(),
  isUp: Type.Boolean(),
  isExternal: Type.Boolean(),
  mtu: Type.Integer({ minimum: 68, maximum: 65535 }),
  /** The same in every cell, so that hosts of several cells can tunnel to each other. 24 bits. */
  tunnelKey: Type.Integer({ minimum: 1, maximum: 2 ** 24 - 1 }),
  /** The network of the site that hosts map to a bridge; null: a tenant network in tunnels. */
  physicalNetwork: Nullable(Type.String()),
  /** Null: untagged. */
  vlan: Nullable(Type.Integer({ minimum: 1, maximum: 4094 })),
  /** Appended to the names of ports that are answered inside the network, without a final dot; empty: none. */
  dnsDomain: Type.String(),
})
export type WireNetwork = Static<typeof WireNetwork>

/** How guests of an IPv6 subnet get their addresses, as Neutron's `ipv6_address_mode`. */
export const ADDRESS_MODES = ['slaac', 'dhcpv6-stateful', 'dhcpv6-stateless'] as const

export const WireSubnet = Type.Object({
  id: Uuid,
  revision: Revision,
  networkId: Uuid,
  cidr: Cidr,
  gateway: Nullable(Address),
  hasDhcp: Type.Boolean(),
  dnsServers: Type.Array(Address),
  hostRoutes: Type.Array(Route),
  /** Null: of an IPv4 subnet, or left to the user. */
  ipv6AddressMode: Nullable(OneOf(ADDRESS_MODES)),
  ipv6RaMode: Nullable(OneOf(ADDRESS_MODES)),
})
export type WireSubnet = Static<typeof WireSubnet>

export const WirePort = Type.Object({
  id: Uuid,
  revision: Revision,
  networkId: Uuid,
  projectId: Type.String(),
  name: Type.String(),
  /** Unique in its network and the same in every cell. 15 bits. */
  tunnelKey: Type.Integer({ minimum: 1, maximum: 2 ** 15 - 1 }),
  mac: MacAddress,
  fixedIps: Type.Array(Type.Object({ subnetId: Uuid, address: Address })),
  /** Further addresses it may send from; `mac` null: its own. */
  allowedPairs: Type.Array(Type.Object({ mac: Nullable(MacAddress), cidr: Type.String() })),
  hasPortSecurity: Type.Boolean(),
  securityGroupIds: Type.Array(Uuid),
  isUp: Type.Boolean(),
  /** The name that is answered inside its network; empty: none. */
  dnsName: Type.String(),
  dhcpOptions: Type.Array(
    Type.Object({
      name: Type.String(),
      value: Nullable(Type.String()),
      version: Type.Union([Type.Literal(4), Type.Literal(6)]),
    }),
  ),
  /** As Neutron's: `compute:nova`, `network:router_interface`, …; empty: none. */
  deviceOwner: Type.String(),
  deviceId: Type.String(),
  /** The host in this cell that it is to be bound to; null: the first that plugs it, or none. */
  hostId: Nullable(Uuid),
  /** The host of another cell that it is on; null: it is in this cell, or on no host. */
  remoteHostId: Nullable(Uuid),
  /** It is a NIC of a whole machine, which no host plugs in and no host filters; absent: it is not. */
  isMachine: Type.Optional(Type.Literal(true)),
})
export type WirePort = Static<typeof WirePort>

/** A rule of a security group. `remoteGroupId`: members of that group, wherever they are. */
export const WireRule = Type.Object({
  id: Uuid,
  direction: FilterRule.properties.direction,
  version: FilterRule.properties.version,
  /** IANA's number; null: any. */
  protocol: FilterRule.properties.protocol,
  /** Ports of the receiver, or ICMP's type and code; null: any. */
  portMin: FilterRule.properties.portMin,
  portMax: FilterRule.properties.portMax,
  remoteCidr: Nullable(Cidr),
  remoteGroupId: Nullable(Uuid),
})
export type WireRule = Static<typeof WireRule>

export const WireSecurityGroup = Type.Object({
  id: Uuid,
  revision: Revision,
  name: Type.String(),
  rules: Type.Array(WireRule),
})
export type WireSecurityGroup = Static<typeof WireSecurityGroup>

/** Ports of a floating IP that lead to as many of a server's address, or all to one. */
export const WireForwarding = Type.Object({
  floatingIpId: Uuid,
  floatingAddress: Address,
  protocol: OneOf(['tcp', 'udp']),
  externalFirst: PortNumber,
  externalLast: PortNumber,
  address: Address,
  internalFirst: PortNumber,
  internalLast: PortNumber,
})
export type WireForwarding = Static<typeof WireForwarding>

export const WireRouter = Type.Object({
  id: Uuid,
  revision: Revision,
  name: Type.String(),
  isUp: Type.Boolean(),
  /** Its ports with the device owners `network:router_interface` and `network:router_gateway` name it as their device. */
  gateway: Nullable(
    Type.Object({
      portId: Uuid,
      hasSnat: Type.Boolean(),
    }),
  ),
  routes: Type.Array(Route),
  /** Absent: none. Only those to servers of this cell. */
  forwardings: Type.Optional(Type.Array(WireForwarding)),
})
export type WireRouter = Static<typeof WireRouter>

export const WireFloatingIp = Type.Object({
  id: Uuid,
  revision: Revision,
  address: Address,
  /** The external network. */
  networkId: Uuid,
  /** The MAC address of its own port there, by which hosts answer for it. */
  mac: MacAddress,
  routerId: Uuid,
  portId: Uuid,
  fixedAddress: Address,
})
/** Only those that are associated with a port: others are in no data plane. */
export type WireFloatingIp = Static<typeof WireFloatingIp>

/** A host of another cell to which this cell's hosts tunnel. */
export const WireRemoteHost = Type.Object({
  id: Uuid,
  name: Type.String(),
  /** Where its tunnels end. */
  encapAddress: Address,
})
export type WireRemoteHost = Static<typeof WireRemoteHost>

/** Everything that the network engine of one cell is to have. */
export const NetworkState = Type.Object({
  networks: Type.Array(WireNetwork),
  subnets: Type.Array(WireSubnet),
  ports: Type.Array(WirePort),
  securityGroups: Type.Array(WireSecurityGroup),
  routers: Type.Array(WireRouter),
  floatingIps: Type.Array(WireFloatingIp),
  remoteHosts: Type.Array(WireRemoteHost),
})
export type NetworkState = Static<typeof NetworkState>

/** By the lists of `NetworkState`. */
export const NETWORK_KINDS = [
  'networks',
  'subnets',
  'ports',
  'securityGroups',
  'routers',
  'floatingIps',
  'remoteHosts',
] as const
export type NetworkKind = (typeof NETWORK_KINDS)[number]

/** One object of a cell's network state, by which a gateway tells whether the cell has it as it is to be. */
export const NetworkObjectRef = Type.Object({
  kind: OneOf(NETWORK_KINDS),
  id: Uuid,
  /** Of the object as the gateway sent it. */
  digest: Type.String({ pattern: '^[A-Za-z0-9+/=]{8,44}$' }),
})
export type NetworkObjectRef = Static<typeof NetworkObjectRef>

/** Objects that are new or have changed, and those that are to go. */
export const NetworkChanges = Type.Object({
  put: NetworkState,
  /** Of every object in `put`. */
  digests: Type.Array(NetworkObjectRef),
  removed: Type.Array(Type.Pick(NetworkObjectRef, ['kind', 'id'])),
})
export type NetworkChanges = Static<typeof NetworkChanges>
