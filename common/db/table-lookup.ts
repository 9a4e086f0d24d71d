import { getTableColumns, inArray, sql } from 'drizzle-orm'
import type { MySqlTable } from 'drizzle-orm/mysql-core'
import { Lookup } from './lookup.ts'
import { builder } from './statement.ts'

/** Looks for rows of a table by one of its columns; they come as the query builder reads them. */
export function tableLookup<T extends MySqlTable>(
  table: T,
  key: keyof T['$inferSelect'] & string,
): Lookup<T['$inferSelect']> {
  const columns = getTableColumns(table)
  const selected = Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [name, sql`${column}`.as(name)]),
  )
  return new Lookup(
    (keys) =>
      builder
        .select(selected)
        .from(table)
        .where(inArray(columns[key]!, [...keys])),
    (row) => String(row[key]),
    booleansOf(
      Object.entries(columns).flatMap(([name, { dataType }]) =>
        dataType === 'boolean' ? [name] : [],
      ),
    ),
  )
}

/** The database has no booleans: they come as 0 and 1. */
function booleansOf<Row extends Readonly<Record<string, unknown>>>(names: readonly string[]) {
  return (row: Row): Row => {
    const booleans = names.map((name) => [name, row[name] === null ? null : Boolean(row[name])])
    return { ...row, ...(Object.fromEntries(booleans) as Partial<Row>) }
  }
}
