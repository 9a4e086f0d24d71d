import { is, Param, Placeholder, type SQL } from 'drizzle-orm'
import { MySqlDialect } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql2'

/** Builds statements without a connection. */
export const builder = drizzle.mock()

/**
 * SQL built once. Drizzle spends about 0.1 ms of CPU on building a statement, four times what running it costs
 * the client, so hot paths build at load time and only bind per call. Repository files keep these to themselves.
 */
export interface Statement {
  readonly text: string
  /** Places of the values that add up where it runs once for several transactions; absent: it runs for each. */
  readonly sums?: readonly number[] | undefined
  /** Places of the values that are listed where it runs once for several transactions; absent: it runs for each. */
  readonly keys?: readonly number[] | undefined
  bind(values: Readonly<Record<string, unknown>>): readonly unknown[]
}

/** A query with its values' places left open, as drizzle builds it. */
interface Query {
  toSQL(): { sql: string; params: unknown[] }
}

/** How a statement runs for several transactions. */
export interface StatementOptions {
  /**
   * Names of placeholders with numbers. Running the statement once with their sums does as much as running it with each
   * of them, if all other values are the same. Empty: running it once does as much as running it again.
   */
  readonly sums?: readonly string[]
  /**
   * Names of placeholders in conditions `column = ?`. Running the statement once for the rows with any of their values
   * does as much as running it with each of them, if all other values are the same.
   */
  readonly keys?: readonly string[]
}

/** Freezes a drizzle query whose variable parts are `sql.placeholder(name)`; every placeholder must be bound. */
export function statement(query: Query, { sums, keys }: StatementOptions = {}): Statement {
  const { sql: text, params } = query.toSQL()
  // A statement that is sent as text gets its values in place of every question mark, even of one within a string.
  if (text.split('?').length - 1 !== params.length)
    throw new Error(`A statement has a question mark that is no placeholder: ${text}`)
  const slots = params.map(slotOf)
  return {
    text,
    sums: sums && placesOf(params, sums),
    keys: keys && keyPlacesOf(text, params, keys),
    bind: (values) => slots.map((slot) => slot(values)),
  }
}

function placesOf(params: readonly unknown[], names: readonly string[]): readonly number[] {
  return params.flatMap((param, place) => {
    const name = is(param, Param) ? param.value : param
    return is(name, Placeholder) && names.includes(name.name) ? [place] : []
  })
}

/** Throws where a value is not what a column is compared with: no list could stand in its place. */
function keyPlacesOf(
  text: string,
  params: readonly unknown[],
  names: readonly string[],
): readonly number[] {
  const places = placesOf(params, names)
  const before = text.split('?')
  const other = places.find((place) => !before[place]!.endsWith(EQUALS))
  if (other !== undefined || places.length === 0)
    throw new Error(`A statement compares no column with ${names.join(', ')}: ${text}`)
  return places
}

/** How a condition on a key ends before its value. */
export const EQUALS = ' = '

const dialect = new MySqlDialect()

/** Like `statement`, for SQL that the query builder cannot say. */
export function sqlStatement(query: SQL, options: StatementOptions = {}): Statement {
  return statement({ toSQL: () => dialect.sqlToQuery(query) }, options)
}

type Slot = (values: Readonly<Record<string, unknown>>) => unknown

function slotOf(param: unknown): Slot {
  if (is(param, Placeholder)) {
    const { name } = param
    return (values) => bound(values, name)
  }
  // A placeholder given as a column's value: the column says how the value is written.
  if (is(param, Param) && is(param.value, Placeholder)) {
    const { encoder } = param
    const { name } = param.value
    return (values) => {
      const value = bound(values, name)
      return value === null ? null : encoder.mapToDriverValue(value)
    }
  }
  return () => param
}

function bound(values: Readonly<Record<string, unknown>>, name: string): unknown {
  const value = values[name]
  if (value === undefined) throw new Error(`Statement value '${name}' is not bound`)
  return value
}
