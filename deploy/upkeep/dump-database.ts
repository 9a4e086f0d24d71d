import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { createConnection, type RowDataPacket } from 'mysql2'
import type { Connection } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'

/** Kept by the migrations themselves, which make the tables again, and by a cluster of databases. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  '__drizzle_migrations',
  'migration_lock',
  'database_writer',
])

/** One line of a dump: a table's name with its columns, then its rows, each a list of text or null. */
export type DumpLine =
  | { readonly table: string; readonly columns: readonly string[] }
  | readonly (string | null)[]

/**
 * Writes every row as it was at one moment, without disturbing users of the database. `begun` is called first, with the
 * connection that sees that moment.
 */
export async function dumpDatabase(
  url: string,
  out: Writable,
  begun?: (connection: Connection) => Promise<void>,
): Promise<void> {
  const streaming = createConnection({ ...connectionTo(url), typeCast: (field) => field.string() })
  const connection = streaming.promise()
  const write = async (line: DumpLine) => {
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain')
  }
  try {
    // A connection that was refused never runs, and never fails, what was queued for it.
    await connection.connect()
    await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY')
    await begun?.(connection)
    const [tables] = await connection.query<RowDataPacket[]>('SHOW TABLES')
    for (const name of tables.map((row) => String(Object.values(row)[0]))) {
      if (NOT_COPIED.has(name)) continue
      const [shown] = await connection.query<RowDataPacket[]>(`SHOW COLUMNS FROM \`${name}\``)
      // What the database makes of other columns, it makes again.
      const kept = shown.filter((column) => !String(column['Extra']).includes('GENERATED'))
      const columns = kept.map((column) => String(column['Field']))
      await write({ table: name, columns })
      const list = columns.map((column) => `\`${column}\``).join(', ')
      const rows = streaming.query({
        sql: `SELECT ${list} FROM \`${name}\``,
        rowsAsArray: true,
      })
      for await (const row of rows.stream()) await write(row as readonly (string | null)[])
    }
  } finally {
    connection.destroy()
  }
}
