import {
  bigint,
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  smallint,
  uniqueIndex,
  varchar,
} from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token, uuid } from '#common/db/columns.ts'

// Foreign keys stand where many transactions at once give a row a child: they keep it from being deleted meanwhile, on all
// nodes of a cluster, and do not exclude each other, as `lockRows` would.

/** The columns of every object of the network service. */
export const described = {
  projectId: token('project_id').notNull(),
  name: text255('name').notNull(),
  description: text255('description').notNull(),
  createdAt: time('created_at').notNull(),
  updatedAt: time('updated_at').notNull(),
  revision: int('revision_number').notNull(),
  tags: json('tags').$type<readonly string[]>().notNull().default([]),
}

export const networks = mysqlTable(
  'networks',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    ...described,
    isUp: boolean('admin_state_up').notNull(),
    isShared: boolean('shared').notNull(),
    isExternal: boolean('router_external').notNull(),
    mtu: int('mtu').notNull(),
    hasPortSecurity: boolean('port_security_enabled').notNull(),
    /** True: the network reaches every cell there is and will be. False: those with a segment. */
    isEverywhere: boolean('everywhere').notNull(),
    /** True or null: the key makes one external network be what topologies are joined with unasked. */
    isDefault: boolean('is_default'),
    /** Follows the names of ports that are answered inside the network, without a final dot; empty: the usual one. */
    dnsDomain: text255('dns_domain').notNull().default(''),
    /** The network outside that it is on, as hosts name it; null: on none but its own. */
    physicalNetwork: token('physical_network'),
    /** Of that network; 0: without a tag. Null where it is on none. */
    vlanId: smallint('vlan_id'),
    /** By which hosts tell the network's packets apart on the wire, in every cell the same. */
    tunnelKey: int('tunnel_key').notNull(),
  },
  (t) => [
    uniqueIndex('networks_by_tunnel_key').on(t.tunnelKey),
    uniqueIndex('networks_by_vlan').on(t.physicalNetwork, t.vlanId),
    uniqueIndex('networks_by_default').on(t.isDefault),
    index('networks_by_project').on(t.projectId, t.id),
    index('networks_by_shared').on(t.isShared, t.id),
  ],
)

export const networkSegments = mysqlTable(
  'network_segments',
  { networkId: uuid('network_id').notNull(), cellId: uuid('cell_id').notNull() },
  (t) => [primaryKey({ columns: [t.networkId, t.cellId] })],
)

/** The project a network is shared with; `*` stands for every project, which the network's row says as well. */
export const rbacPolicies = mysqlTable(
  'rbac_policies',
  {
    id: uuid('id').primaryKey(),
    projectId: token('project_id').notNull(),
    networkId: uuid('network_id').notNull(),
    target: token('target').notNull(),
  },
  (t) => [
    uniqueIndex('rbac_policies_by_network').on(t.networkId, t.target),
    index('rbac_policies_by_project').on(t.projectId, t.id),
    index('rbac_policies_by_target').on(t.target, t.networkId),
  ],
)

export const subnets = mysqlTable(
  'subnets',
  {
    id: uuid('id').primaryKey(),
    ...described,
    networkId: uuid('network_id').notNull(),
    ipVersion: smallint('ip_version').notNull(),
    cidr: token('cidr').notNull(),
    gatewayIp: token('gateway_ip'),
    hasDhcp: boolean('enable_dhcp').notNull(),
    dnsServers: json('dns_nameservers').$type<readonly string[]>().notNull(),
    hostRoutes: json('host_routes').$type<readonly HostRoute[]>().notNull(),
    ipv6RaMode: token('ipv6_ra_mode', 16),
    ipv6AddressMode: token('ipv6_address_mode', 16),
    subnetPoolId: uuid('subnetpool_id'),
    pools: json('allocation_pools').$type<readonly AddressRange[]>().notNull(),
  },
  (t) => [
    index('subnets_by_network').on(t.networkId, t.id),
    index('subnets_by_project').on(t.projectId, t.id),
    index('subnets_by_pool').on(t.subnetPoolId),
  ],
)

/** Prefixes that subnets are taken from. */
export const subnetPools = mysqlTable(
  'subnet_pools',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    ...described,
    ipVersion: smallint('ip_version').notNull(),
    prefixes: json('prefixes').$type<readonly string[]>().notNull(),
    defaultLength: smallint('default_prefixlen').notNull(),
    minLength: smallint('min_prefixlen').notNull(),
    maxLength: smallint('max_prefixlen').notNull(),
    projectQuota: int('default_quota'),
    isShared: boolean('shared').notNull(),
    /** True or null: the key makes one pool of each IP version be the default. */
    isDefault: boolean('is_default'),
  },
  (t) => [
    uniqueIndex('subnet_pools_by_default').on(t.isDefault, t.ipVersion),
    index('subnet_pools_by_project').on(t.projectId, t.id),
    index('subnet_pools_by_shared').on(t.isShared, t.id),
  ],
)

export interface HostRoute {
  readonly destination: string
  readonly nexthop: string
}

export interface AddressRange {
  readonly start: string
  readonly end: string
}

/** What a port may send from besides its own addresses. */
export interface AllowedPair {
  /** An address, or a prefix. */
  readonly address: string
  /** Null: the port's own. */
  readonly mac: string | null
}

export interface DhcpOption {
  readonly name: string
  readonly value: string
  readonly version: 4 | 6
}

export const ports = mysqlTable(
  'ports',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    ...described,
    networkId: uuid('network_id')
      .notNull()
      .references(() => networks.id),
    macAddress: token('mac_address', 17).notNull(),
    /** Of the machine's NIC that is behind it, which it shows in place of its own; null: none is. */
    machineMac: token('machine_mac', 17),
    isUp: boolean('admin_state_up').notNull(),
    status: token('status', 16).notNull(),
    /** The server or other device it belongs to; empty for none. */
    deviceId: token('device_id', 255).notNull(),
    deviceOwner: token('device_owner', 255).notNull(),
    /** Order of the NIC in its server. */
    nicIndex: smallint('nic_index').notNull(),
    /** True when a boot made it: it goes with its server. */
    isBootMade: boolean('boot_made').notNull(),
    /** The tag the user gave the NIC at boot. */
    nicTag: varchar('nic_tag', { length: 60 }),
    hostName: text255('binding_host').notNull(),
    /** As the cell's network engine says; null: its cell has none, and the status follows the server. */
    isDataPlaneUp: boolean('data_plane_up'),
    hasPortSecurity: boolean('port_security_enabled').notNull(),
    allowedPairs: json('allowed_address_pairs')
      .$type<readonly AllowedPair[]>()
      .notNull()
      .default([]),
    dhcpOptions: json('extra_dhcp_opts').$type<readonly DhcpOption[]>().notNull().default([]),
    /** By which it is answered inside its network; empty: none. */
    dnsName: token('dns_name', 63).notNull().default(''),
    /** By which hosts tell the ports of its network apart on the wire, in every cell the same. */
    tunnelKey: smallint('tunnel_key').notNull(),
  },
  (t) => [
    uniqueIndex('ports_by_mac').on(t.macAddress),
    uniqueIndex('ports_by_tunnel_key').on(t.networkId, t.tunnelKey),
    index('ports_by_machine_mac').on(t.machineMac),
    index('ports_by_device').on(t.deviceId, t.nicIndex),
    index('ports_by_network').on(t.networkId, t.id),
    index('ports_by_project').on(t.projectId, t.id),
  ],
)

/** The key makes an address belong to one port: the port whose row is inserted first. */
export const portAddresses = mysqlTable(
  'port_addresses',
  {
    subnetId: uuid('subnet_id').notNull(),
    /** Distance from the subnet's first address; orders addresses for the search of a free one. */
    offset: bigint('address_offset', { mode: 'bigint', unsigned: true }).notNull(),
    address: token('ip_address', 45).notNull(),
    portId: uuid('port_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.subnetId, t.offset] }),
    index('port_addresses_by_port').on(t.portId),
    index('port_addresses_by_address').on(t.address),
  ],
)

/** Addresses that ports gave back a short while ago, which are not handed out while there are others. */
export const releasedAddresses = mysqlTable(
  'released_addresses',
  {
    subnetId: uuid('subnet_id').notNull(),
    offset: bigint('address_offset', { mode: 'bigint', unsigned: true }).notNull(),
    releasedAt: time('released_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.subnetId, t.offset] }),
    index('released_addresses_by_time').on(t.releasedAt),
  ],
)

export const securityGroups = mysqlTable(
  'security_groups',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    ...described,
    /** The project, for its default group only: there is one per project. */
    defaultOf: token('default_of'),
  },
  (t) => [
    uniqueIndex('security_groups_by_default').on(t.defaultOf),
    index('security_groups_by_project').on(t.projectId, t.id),
  ],
)

export const securityGroupRules = mysqlTable(
  'security_group_rules',
  {
    id: uuid('id').primaryKey(),
    groupId: uuid('security_group_id').notNull(),
    projectId: token('project_id').notNull(),
    description: text255('description').notNull(),
    direction: token('direction', 8).notNull(),
    etherType: token('ethertype', 8).notNull(),
    protocol: token('protocol', 32),
    portMin: int('port_range_min'),
    portMax: int('port_range_max'),
    remoteCidr: token('remote_ip_prefix', 50),
    remoteGroupId: uuid('remote_group_id'),
    /** Digest of everything that makes a rule what it is: the same rule exists once per group. */
    identity: token('identity', 64).notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('security_group_rules_by_identity').on(t.groupId, t.identity),
    index('security_group_rules_by_project').on(t.projectId, t.id),
    index('security_group_rules_by_remote').on(t.remoteGroupId),
  ],
)

export const portSecurityGroups = mysqlTable(
  'port_security_groups',
  {
    portId: uuid('port_id').notNull(),
    groupId: uuid('security_group_id')
      .notNull()
      .references(() => securityGroups.id),
  },
  (t) => [
    primaryKey({ columns: [t.portId, t.groupId] }),
    index('port_security_groups_by_group').on(t.groupId),
  ],
)

/** What a project has and may have; `limit` is null while the default holds, and -1 for no limit. */
export const networkQuotas = mysqlTable(
  'network_quotas',
  {
    projectId: token('project_id').notNull(),
    resource: token('resource', 32).notNull(),
    used: int('used').notNull(),
    limit: int('hard_limit'),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.resource] })],
)
