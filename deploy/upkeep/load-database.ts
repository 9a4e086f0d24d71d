import { type Connection, createConnection } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'
import { Failure } from '#common/errors.ts'
import type { DumpLine } from './dump-database.ts'

/** Bytes of one statement, well below what MariaDB takes. */
const BATCH_BYTES = 1024 * 1024
const BATCH_ROWS = 500

interface Batch {
  readonly rows: (readonly (string | null)[])[]
  bytes: number
}

/** Afterwards a database whose tables are there and empty has the rows of a dump. */
export async function loadDatabase(url: string, lines: AsyncIterable<string>): Promise<void> {
  const connection = await createConnection(connectionTo(url))
  let into: string | undefined
  const batch: Batch = { rows: [], bytes: 0 }
  try {
    // The tables come in the order of their names, children before their parents.
    await connection.query('SET foreign_key_checks = 0')
    for await (const text of lines) {
      const line = JSON.parse(text) as DumpLine
      if ('table' in line) {
        await flush(connection, into, batch)
        into = `\`${line.table}\` (${line.columns.map((column) => `\`${column}\``).join(', ')})`
        continue
      }
      batch.rows.push(line)
      batch.bytes += text.length
      if (batch.rows.length >= BATCH_ROWS || batch.bytes >= BATCH_BYTES)
        await flush(connection, into, batch)
    }
    await flush(connection, into, batch)
  } finally {
    await connection.end()
  }
}

async function flush(
  connection: Connection,
  into: string | undefined,
  batch: Batch,
): Promise<void> {
  if (batch.rows.length === 0) return
  if (into === undefined)
    throw new Failure('invalid', 'The backup is damaged: it has rows before the first table.')
  await connection.query(`INSERT INTO ${into} VALUES ?`, [batch.rows])
  batch.rows.length = 0
  batch.bytes = 0
}
