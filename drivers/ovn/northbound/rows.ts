import type { Value } from '../ovsdb/values.ts'

/** The tables of the northbound database that are written. */
export type NorthboundTable =
  | 'ACL'
  | 'DHCP_Options'
  | 'DNS'
  | 'Gateway_Chassis'
  | 'Logical_Router'
  | 'Logical_Router_Port'
  | 'Logical_Router_Static_Route'
  | 'Logical_Switch'
  | 'Logical_Switch_Port'
  | 'NAT'
  | 'Port_Group'

/** Rows that stand by themselves; others go when no row refers to them any more. */
export const ROOT_TABLES: ReadonlySet<NorthboundTable> = new Set([
  'DHCP_Options',
  'DNS',
  'Logical_Router',
  'Logical_Switch',
  'Port_Group',
])

/** A row of ours has this key in its `external_ids`, with what identifies it in its table. */
export const ID_KEY = 'weir:id'

/** Another wanted row. */
export interface Reference {
  readonly table: NorthboundTable
  readonly id: string
}

/** A row as it is to be. Columns that are not named are OVN's. */
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

export function refersTo(...references: readonly Reference[]): WantedReferences {
  return { refersTo: references }
}

export function isReferences(value: Value | WantedReferences): value is WantedReferences {
  return typeof value === 'object' && value !== null && 'refersTo' in value
}

/** `external_ids` of a row: its identity, and what Neutron writes, by which people and tools recognise it. */
export function externalIds(
  id: string,
  neutron: Readonly<Record<string, string | number>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(neutron).map(([key, value]) => [`neutron:${key}`, String(value)])
  return { [ID_KEY]: id, ...Object.fromEntries(entries) }
}

/** The name that Neutron gives a logical switch or router. */
export function neutronName(id: string): string {
  return `neutron-${id}`
}
