import { getTableColumns, inArray, type SQL, sql } from 'drizzle-orm'
import type { MySqlTable } from 'drizzle-orm/mysql-core'
import { Lookup } from './lookup.ts'
import { builder } from './statement.ts'

/** How all columns of a table are read by statements that are run without the query builder. */
export interface TableColumns<Row> {
  /** What is selected: each column under its name in the schema. */
  readonly selected: Readonly<Record<keyof Row & string, SQL.Aliased>>
  /** A row as the query builder reads it. */
  readonly read: <T extends Row>(row: T) => T
}

/** The columns of a table, named as the schema names them. */
export function columnsOf<T extends MySqlTable>(table: T): TableColumns<T['$inferSelect']> {
  const columns = Object.entries(getTableColumns(table))
  const booleans = columns.flatMap(([name, { dataType }]) => (dataType === 'boolean' ? [name] : []))
  const selected = Object.fromEntries(
    columns.map(([name, column]) => [name, sql`${column}`.as(name)]),
  )
  return {
    selected: selected as TableColumns<T['$inferSelect']>['selected'],
    read: booleansOf(booleans),
  }
}

/** Looks for rows of a table by one of its columns; they come as the query builder reads them. */
export function tableLookup<T extends MySqlTable>(
  table: T,
  key: keyof T['$inferSelect'] & string,
): Lookup<T['$inferSelect']> {
  const { selected, read } = columnsOf(table)
  const column = getTableColumns(table)[key]!
  return new Lookup<T['$inferSelect']>(
    (keys) =>
      builder
        .select(selected)
        .from(table)
        .where(inArray(column, [...keys])),
    (row) => String(row[key]),
    read,
  )
}

/** The database has no booleans: they come as 0 and 1. */
function booleansOf(names: readonly string[]) {
  return <Row extends Readonly<Record<string, unknown>>>(row: Row): Row => {
    const booleans: Record<string, unknown> = {}
    for (const name of names) booleans[name] = row[name] === null ? null : Boolean(row[name])
    return { ...row, ...booleans }
  }
}
