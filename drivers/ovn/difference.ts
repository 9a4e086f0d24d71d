import {
  HOLDING_COLUMNS,
  ID_KEY,
  isReferences,
  NORTHBOUND_TABLES,
  type NorthboundTable,
  type Reference,
  ROOT_TABLES,
  type WantedRow,
} from './northbound/rows.ts'
import type { Operation, Table } from './ovsdb/database.ts'
import {
  type Atom,
  encode,
  encodeReference,
  type Row,
  type Schema,
  type Value,
  type ValueMap,
} from './ovsdb/values.ts'

/** The part of a database that is compared. */
export interface Replica {
  readonly schema: Schema
  table(name: string): Table
}

/** Rows of ours by table and identity. A second row of one identity counts as unwanted. */
type Known = ReadonlyMap<string, { readonly uuid: string; readonly row: Row }>
type KnownTables = ReadonlyMap<NorthboundTable, Known>

/**
 * One transaction that makes our rows equal the wanted ones; empty if they do. It fails if a row that it changes
 * differs from the replica. Rows without our identity are not changed, and neither are elements of sets that refer to
 * them.
 */
export function difference(replica: Replica, wanted: readonly WantedRow[]): readonly Operation[] {
  const named = Map.groupBy(wanted, ({ table }) => table)
  const known = new Map(
    TABLES.map((table) => [table, ownRows(replica.table(table), named.get(table) ?? NONE)]),
  )
  const wantedIds = new Set(wanted.map(keyOf))
  const changes = wanted.flatMap((row) => {
    const found = known.get(row.table)?.get(row.id)
    const resolved = resolve(row, known)
    return found === undefined
      ? [insert(replica.schema, row, resolved)]
      : update(replica, row.table, found, resolved)
  })
  const removals = TABLES.flatMap((table) =>
    [...replica.table(table)].flatMap(([uuid, row]) => {
      const id = identityOf(row)
      if (id === undefined) return []
      const isWanted = wantedIds.has(`${table} ${id}`) && known.get(table)!.get(id)!.uuid === uuid
      return isWanted ? [] : removal(table, uuid, row)
    }),
  )
  return [...changes, ...removals]
}

/** The references of a row that goes with its last reference would hold rows that are deleted in the same transaction. */
function removal(table: NorthboundTable, uuid: string, row: Row): readonly Operation[] {
  const where = [['_uuid', '==', encodeReference(uuid)]]
  if (ROOT_TABLES.has(table)) return [{ op: 'delete', table, where }]
  const held = HOLDING_COLUMNS[table]
  if (held === undefined || isEmpty(row[held])) return []
  return [{ op: 'update', table, where, row: { [held]: ['set', []] } }]
}

function isEmpty(value: Value | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

const TABLES = Object.keys(NORTHBOUND_TABLES) as NorthboundTable[]
const NONE: readonly WantedRow[] = []

/**
 * Our rows by identity. A row without identity that has the name of a wanted row is taken for it: someone removed its
 * identity, and names of ports and groups are unique.
 */
function ownRows(table: Table, wanted: readonly WantedRow[]): Known {
  const rows = new Map<string, { uuid: string; row: Row }>()
  for (const [uuid, row] of table) {
    const id = identityOf(row)
    if (id === undefined) continue
    const other = rows.get(id)
    if (other === undefined || uuid < other.uuid) rows.set(id, { uuid, row })
  }
  const missing = wanted.filter(({ id, columns }) => 'name' in columns && !rows.has(id))
  if (missing.length === 0) return rows
  const idOf = new Map(missing.map(({ id, columns }) => [columns['name'], id]))
  for (const [uuid, row] of table) {
    const id = identityOf(row) === undefined ? idOf.get(row['name'] ?? null) : undefined
    if (id !== undefined && !rows.has(id)) rows.set(id, { uuid, row })
  }
  return rows
}

/** Undefined for a row that is not ours. */
export function identityOf(row: Row): string | undefined {
  const id = (row['external_ids'] as ValueMap | undefined)?.[ID_KEY]
  return id === undefined ? undefined : String(id)
}

function keyOf({ table, id }: Reference): string {
  return `${table} ${id}`
}

/** Columns with references as UUIDs, or as the names of rows that the transaction inserts. */
function resolve({ columns }: WantedRow, known: KnownTables): ReadonlyMap<string, Value> {
  const uuidOf = (to: Reference) => known.get(to.table)?.get(to.id)?.uuid ?? insertName(to)
  return new Map(
    Object.entries(columns).map(([name, value]) => [
      name,
      isReferences(value) ? value.refersTo.map(uuidOf) : value,
    ]),
  )
}

/** A C identifier, which the name of an inserted row has to be. */
function insertName({ table, id }: Reference): string {
  return `${table}_${id.replace(/[^a-zA-Z0-9]/g, '_')}`
}

function insert(schema: Schema, row: WantedRow, columns: ReadonlyMap<string, Value>): Operation {
  const values = [...columns].flatMap(([name, value]) => {
    const column = schema[row.table]?.[name]
    return column === undefined ? [] : [[name, encode(value, column)] as const]
  })
  return {
    op: 'insert',
    table: row.table,
    'uuid-name': insertName(row),
    row: Object.fromEntries(values),
  }
}

function update(
  replica: Replica,
  table: NorthboundTable,
  { uuid, row }: { readonly uuid: string; readonly row: Row },
  columns: ReadonlyMap<string, Value>,
): readonly Operation[] {
  const { schema } = replica
  const where = [['_uuid', '==', encodeReference(uuid)]]
  const values: [string, unknown][] = []
  const mutations: unknown[] = []
  for (const [name, value] of columns) {
    const column = schema[table]?.[name]
    if (column === undefined) continue
    const before = row[name] ?? column.empty
    if (column.kind === 'set' && column.isReference) {
      const [old, now] = [new Set(before as readonly Atom[]), new Set(value as readonly Atom[])]
      const targets = replica.table(column.refTable ?? '')
      const isOurs = (each: Atom) => identityOf(targets.get(String(each)) ?? {}) !== undefined
      const gone = [...old].filter((each) => !now.has(each) && isOurs(each))
      const come = [...now].filter((each) => !old.has(each))
      if (gone.length > 0) mutations.push([name, 'delete', encode(gone, column)])
      if (come.length > 0) mutations.push([name, 'insert', encode(come, column)])
    } else {
      const single = column.kind === 'optional' && Array.isArray(value) ? (value[0] ?? null) : value
      if (!isEqual(before, single)) values.push([name, encode(single, column)])
    }
  }
  if (values.length === 0 && mutations.length === 0) return []
  const ids = schema[table]!['external_ids']!
  return [
    {
      op: 'wait',
      timeout: 0,
      table,
      where,
      columns: ['external_ids'],
      until: '==',
      rows: [{ external_ids: encode(row['external_ids']!, ids) }],
    },
    ...(values.length > 0 ? [{ op: 'update', table, where, row: Object.fromEntries(values) }] : []),
    ...(mutations.length > 0 ? [{ op: 'mutate', table, where, mutations }] : []),
  ]
}

/** Sets have no order. */
function isEqual(a: Value, b: Value): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && (a as readonly Atom[]).every((each) => b.includes(each))
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const [old, now] = [a as ValueMap, b as ValueMap]
  const keys = Object.keys(old)
  return keys.length === Object.keys(now).length && keys.every((key) => old[key] === now[key])
}
