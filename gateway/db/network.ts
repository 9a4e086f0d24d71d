import type { AddressRange, AllowedPair, DhcpOption, HostRoute } from './schema/network.ts'

export type { AddressRange, AllowedPair, DhcpOption, HostRoute }

/** What every object of the network service has. */
export interface Described {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly description: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly revision: number
  readonly tags: readonly string[]
}

export interface Network extends Described {
  readonly isUp: boolean
  readonly isShared: boolean
  readonly isExternal: boolean
  readonly mtu: number
  readonly hasPortSecurity: boolean
  /** True: every cell, present and future. False: only those of `cellIds`. */
  readonly isEverywhere: boolean
  readonly cellIds: readonly string[]
  /** Of external networks: the one that topologies are joined with unasked. */
  readonly isDefault: boolean
  readonly dnsDomain: string
  /** The network outside that it is on; null: on none but its own. */
  readonly physicalNetwork: string | null
  /** Of that network; 0: without a tag. Null where it is on none. */
  readonly vlanId: number | null
  readonly tunnelKey: number
  readonly subnetIds: readonly string[]
}

export const IPV6_MODES = ['dhcpv6-stateful', 'dhcpv6-stateless', 'slaac'] as const
export type Ipv6Mode = (typeof IPV6_MODES)[number]

export interface Subnet extends Described {
  readonly networkId: string
  readonly ipVersion: 4 | 6
  readonly cidr: string
  readonly gatewayIp: string | null
  readonly hasDhcp: boolean
  readonly dnsServers: readonly string[]
  readonly hostRoutes: readonly HostRoute[]
  /** What its prefix was taken from. */
  readonly subnetPoolId: string | null
  /** Who announces the prefix, and how guests get addresses in it; null for IPv4, or if the user arranges it. */
  readonly ipv6RaMode: Ipv6Mode | null
  readonly ipv6AddressMode: Ipv6Mode | null
  /** Where addresses are taken from when none is asked for; ascending, apart from each other. */
  readonly pools: readonly AddressRange[]
}

export interface FixedIp {
  readonly subnetId: string
  readonly address: string
}

/** By which a fixed address is reached from an external network. */
export interface FloatingAddress {
  readonly fixedAddress: string
  readonly address: string
}

export interface Port extends Described {
  readonly networkId: string
  readonly macAddress: string
  /** True: the MAC address is that of a machine's NIC. Absent: it is not. */
  readonly isMachine?: boolean
  readonly isUp: boolean
  readonly status: string
  readonly deviceId: string
  readonly deviceOwner: string
  readonly nicIndex: number
  readonly isBootMade: boolean
  readonly nicTag: string | null
  readonly hostName: string
  readonly hasPortSecurity: boolean
  readonly allowedPairs: readonly AllowedPair[]
  readonly dhcpOptions: readonly DhcpOption[]
  readonly dnsName: string
  readonly tunnelKey: number
  readonly fixedIps: readonly FixedIp[]
  readonly floatingIps: readonly FloatingAddress[]
  readonly securityGroupIds: readonly string[]
}

/** A port without what it gets when its row is made. */
export type UnplacedPort = Omit<Port, 'fixedIps' | 'floatingIps' | 'macAddress' | 'tunnelKey'>

export interface SecurityGroup extends Described {
  readonly isDefault: boolean
  readonly rules: readonly SecurityGroupRule[]
}

export interface SecurityGroupRule {
  readonly id: string
  readonly groupId: string
  readonly projectId: string
  readonly description: string
  readonly direction: 'ingress' | 'egress'
  readonly etherType: 'IPv4' | 'IPv6'
  readonly protocol: string | null
  readonly portMin: number | null
  readonly portMax: number | null
  readonly remoteCidr: string | null
  readonly remoteGroupId: string | null
  readonly createdAt: Date
}
