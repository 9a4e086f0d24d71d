/** A value of a column: one atom, null for an unset optional one, a set, or a map. UUIDs are strings. */
export type Value = Atom | null | readonly Atom[] | ValueMap
export type Atom = string | number | boolean
export interface ValueMap {
  readonly [key: string]: Atom
}
export type Row = Readonly<Record<string, Value>>

/** The type of a column's values, from the database's schema. */
export interface Column {
  readonly kind: 'one' | 'optional' | 'set' | 'map'
  readonly isReference: boolean
  /** The table to whose rows it refers. */
  readonly refTable?: string
  readonly empty: Value
}
export type Schema = Readonly<Record<string, Readonly<Record<string, Column>>>>

/** The text or reference in a column; empty for an unset one. */
export function textOf(row: Row | undefined, column: string): string {
  const value = row?.[column]
  return typeof value === 'string' ? value : ''
}

interface SchemaDocument {
  readonly tables: Readonly<
    Record<string, { readonly columns: Readonly<Record<string, { readonly type: ColumnType }>> }>
  >
}
type BaseType = string | { readonly type: string; readonly refTable?: string }
type ColumnType =
  | string
  | {
      readonly key: BaseType
      readonly value?: BaseType
      readonly min?: number
      readonly max?: number | 'unlimited'
    }

const ZERO: Readonly<Record<string, Atom>> = { integer: 0, real: 0, boolean: false, string: '' }
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Reads the answer to `get_schema` (RFC 7047, section 3.2). */
export function readSchema(document: unknown): Schema {
  const { tables } = document as SchemaDocument
  return Object.fromEntries(
    Object.entries(tables).map(([table, { columns }]) => [
      table,
      Object.fromEntries(Object.entries(columns).map(([name, { type }]) => [name, columnOf(type)])),
    ]),
  )
}

function columnOf(type: ColumnType): Column {
  if (typeof type === 'string') return oneOf(type)
  const atom = typeof type.key === 'string' ? type.key : type.key.type
  const isReference = atom === 'uuid'
  const { refTable } = typeof type.key === 'string' ? {} : type.key
  const refers = { isReference, ...(refTable !== undefined && { refTable }) }
  if (type.value !== undefined) return { kind: 'map', isReference: false, empty: {} }
  const { min = 1, max = 1 } = type
  if (max !== 1) return { kind: 'set', ...refers, empty: [] }
  return min === 0 ? { kind: 'optional', ...refers, empty: null } : oneOf(atom)
}

function oneOf(atom: string): Column {
  return { kind: 'one', isReference: atom === 'uuid', empty: ZERO[atom] ?? null }
}

/** A value of the database (RFC 7047, section 5.1) as a plain one. */
export function decode(value: unknown, { kind }: Column): Value {
  if (isTagged(value, 'map'))
    return Object.fromEntries(
      (value[1] as readonly (readonly [unknown, unknown])[]).map(([key, each]) => [
        String(decodeAtom(key)),
        decodeAtom(each),
      ]),
    )
  const atoms = isTagged(value, 'set')
    ? (value[1] as readonly unknown[]).map(decodeAtom)
    : [decodeAtom(value)]
  return kind === 'set' ? atoms : (atoms[0] ?? null)
}

function decodeAtom(value: unknown): Atom {
  return isTagged(value, 'uuid') ? (value[1] as string) : (value as Atom)
}

function isTagged(value: unknown, tag: string): value is readonly [string, unknown] {
  return Array.isArray(value) && value.length === 2 && value[0] === tag
}

/** The opposite. A reference that is not a UUID is the name of a row that the same transaction inserts. */
export function encode(value: Value, { kind, isReference }: Column): unknown {
  const atom = (each: Atom) => (isReference ? encodeReference(String(each)) : each)
  if (kind === 'map') return ['map', Object.entries(value as ValueMap)]
  if (kind === 'one') return atom(value as Atom)
  const atoms = Array.isArray(value)
    ? (value as readonly Atom[])
    : value === null
      ? []
      : [value as Atom]
  return ['set', atoms.map(atom)]
}

/** A reference in OVSDB's JSON: to a row by its UUID, or by its name in the same transaction. */
export function encodeReference(id: string): readonly [string, string] {
  return UUID.test(id) ? ['uuid', id] : ['named-uuid', id]
}

/**
 * A value after a change that a monitor reports: for sets and maps the report has the elements that are added, removed
 * or, in maps, changed (ovsdb-server(7), `update2`); for others the new value.
 */
export function changed(before: Value, change: Value, { kind }: Column): Value {
  if (kind === 'set') {
    const old = before as readonly Atom[]
    const elements = change as readonly Atom[]
    return [
      ...old.filter((each) => !elements.includes(each)),
      ...elements.filter((each) => !old.includes(each)),
    ]
  }
  if (kind !== 'map') return change
  const entries = new Map(Object.entries(before as ValueMap))
  for (const [key, each] of Object.entries(change as ValueMap)) {
    if (entries.get(key) === each) entries.delete(key)
    else entries.set(key, each)
  }
  return Object.fromEntries(entries)
}
