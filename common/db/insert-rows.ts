import { type SQL, sql } from 'drizzle-orm'
import type { MySqlTable } from 'drizzle-orm/mysql-core'
import type { Tx } from './database.ts'
import { builder, type Statement, sqlStatement, statement } from './statement.ts'

/** Rows per statement, largest first: few sizes, so that each is built once, and transactions alike can travel together. */
const SIZES = [256, 64, 16, 4, 1] as const

/** Inserts any number of rows of one table with few statements, each built once; queued like any of the transaction's. */
export interface RowsInsert<Column extends string> {
  queue(tx: Tx, rows: readonly Readonly<Record<Column, unknown>>[]): void
}

export interface RowsInsertOptions {
  /** The same expression in every row, by column. */
  readonly fixed?: Readonly<Record<string, SQL>>
  /** The assignments for a row whose key exists, in this order; absent: such a row is an error. */
  readonly onDuplicate?: SQL
}

/** `columns` vary from row to row; those neither there nor in `fixed` take their defaults. */
export function rowsInsert<T extends MySqlTable, Column extends keyof T['$inferInsert'] & string>(
  table: T,
  columns: readonly Column[],
  options: RowsInsertOptions = {},
): RowsInsert<Column> {
  const statements = new Map<number, Statement>()
  const prepared = (size: number): Statement => {
    const known = statements.get(size)
    if (known !== undefined) return known
    const made = build(table, columns, size, options)
    statements.set(size, made)
    return made
  }
  return {
    queue: (tx, rows) => {
      for (let from = 0; from < rows.length; ) {
        const size = SIZES.find((each) => each <= rows.length - from)!
        const values: Record<string, unknown> = {}
        for (let index = 0; index < size; index += 1) {
          const row = rows[from + index]!
          for (const column of columns) values[`${column}${index}`] = row[column]
        }
        tx.queue(prepared(size), values)
        from += size
      }
    },
  }
}

function build<T extends MySqlTable>(
  table: T,
  columns: readonly string[],
  size: number,
  { fixed = {}, onDuplicate }: RowsInsertOptions,
): Statement {
  const rows = Array.from({ length: size }, (_, index) => ({
    ...Object.fromEntries(columns.map((name) => [name, sql.placeholder(`${name}${index}`)])),
    ...fixed,
  }))
  // The builder's types want each column of this very table, which only the caller's types know.
  const insert = builder.insert(table).values(rows as unknown as T['$inferInsert'][])
  if (onDuplicate === undefined) return statement(insert)
  return sqlStatement(sql`${insert.getSQL()} on duplicate key update ${onDuplicate}`)
}
