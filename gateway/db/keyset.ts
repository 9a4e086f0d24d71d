import { asc, desc, type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/** One key of an order: an SQL expression, its direction, and its value in the row a page starts after. */
export interface SortColumn {
  readonly column: SQLWrapper
  readonly isDescending: boolean
}

/** The terms of ORDER BY. */
export function orderOf(columns: readonly SortColumn[]): SQL[] {
  return columns.map(({ column, isDescending }) => (isDescending ? desc(column) : asc(column)))
}

/**
 * True of the rows that come after the row with these values, in this order. NULL sorts lowest, as in MySQL. The
 * last column must be unique, so that no row is skipped or shown twice.
 */
export function after(columns: readonly SortColumn[], values: readonly unknown[]): SQL {
  const [first, ...rest] = columns
  if (first === undefined) return sql`false`
  const [value, ...restValues] = values
  const beyond = beyondValue(first, value)
  if (rest.length === 0) return beyond
  return sql`(${beyond} or (${first.column} <=> ${value} and ${after(rest, restValues)}))`
}

function beyondValue({ column, isDescending }: SortColumn, value: unknown): SQL {
  if (value === null) return isDescending ? sql`false` : sql`${column} is not null`
  return isDescending ? sql`(${column} < ${value} or ${column} is null)` : sql`${column} > ${value}`
}
