import type { Value } from '../ovsdb/values.ts'

/** The written tables of the northbound database, with their compared columns. */
export const NORTHBOUND_TABLES = {
  ACL: ['action', 'direction', 'external_ids', 'match', 'priority'],
  DHCP_Options: ['cidr', 'external_ids', 'options'],
  DNS: ['external_ids', 'records'],
  HA_Chassis: ['chassis_name', 'external_ids', 'priority'],
  HA_Chassis_Group: ['external_ids', 'ha_chassis', 'name'],
  Gateway_Chassis: ['chassis_name', 'external_ids', 'name', 'priority'],
  Load_Balancer: ['external_ids', 'name', 'protocol', 'vips'],
  Logical_Router: [
    'enabled',
    'external_ids',
    'load_balancer',
    'name',
    'nat',
    'options',
    'ports',
    'static_routes',
  ],
  Logical_Router_Port: [
    'enabled',
    'external_ids',
    'gateway_chassis',
    'ipv6_ra_configs',
    'mac',
    'name',
    'networks',
  ],
  Logical_Router_Static_Route: ['external_ids', 'ip_prefix', 'nexthop', 'output_port'],
  Logical_Switch: ['dns_records', 'external_ids', 'load_balancer', 'name', 'other_config', 'ports'],
  Logical_Switch_Port: [
    'addresses',
    'dhcpv4_options',
    'dhcpv6_options',
    'enabled',
    'external_ids',
    'ha_chassis_group',
    'name',
    'options',
    'port_security',
    'tag',
    'type',
  ],
  NAT: [
    'external_ids',
    'external_ip',
    'external_mac',
    'gateway_port',
    'logical_ip',
    'logical_port',
    'type',
  ],
  Port_Group: ['acls', 'external_ids', 'name', 'ports'],
} as const
export type NorthboundTable = keyof typeof NORTHBOUND_TABLES

/** Tables whose rows exist by themselves; rows of others are removed with the last reference to them. */
export const ROOT_TABLES: ReadonlySet<NorthboundTable> = new Set([
  'DHCP_Options',
  'DNS',
  'Load_Balancer',
  'HA_Chassis_Group',
  'Logical_Router',
  'Logical_Switch',
  'Port_Group',
])

/** By table that is not one of these, the column by which a row keeps a row of one of these from being deleted. */
export const HOLDING_COLUMNS: Readonly<Partial<Record<NorthboundTable, string>>> = {
  Logical_Switch_Port: 'ha_chassis_group',
}

/** The key in `external_ids` of our rows, with the identity of the row in its table. */
export const ID_KEY = 'weir:id'

/** A reference to another wanted row. */
export interface Reference {
  readonly table: NorthboundTable
  readonly id: string
}

/** The wanted content of a row. Columns that are not named belong to OVN. */
export interface WantedRow {
  readonly table: NorthboundTable
  /** Unique in its table. */
  readonly id: string
  readonly columns: Readonly<Record<string, Value | WantedReferences>>
}

/** A column that refers to other rows: a set of them, or one or none. */
export interface WantedReferences {
  readonly refersTo: readonly Reference[]
}

/** A column that holds references to these rows, in any order. */
export function refersTo(...references: readonly Reference[]): WantedReferences {
  return { refersTo: references }
}

export function isReferences(value: Value | WantedReferences): value is WantedReferences {
  return typeof value === 'object' && value !== null && 'refersTo' in value
}

/** The `external_ids` of a row: its identity, and the entries of Neutron by which people and tools recognize it. */
export function externalIds(
  id: string,
  neutron: Readonly<Record<string, string | number>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(neutron).map(([key, value]): [string, string] => [
    neutronKey(key),
    String(value),
  ])
  return { [ID_KEY]: id, ...Object.fromEntries(entries) }
}

/** The key of an entry of Neutron in `external_ids`. */
export function neutronKey(name: string): string {
  return `neutron:${name}`
}

/** The name that Neutron gives a logical switch or router. */
export function neutronName(id: string): string {
  return `neutron-${id}`
}

/** The name that Neutron gives the logical router's end of a port. */
export function routerPortName(portId: string): string {
  return `lrp-${portId}`
}
