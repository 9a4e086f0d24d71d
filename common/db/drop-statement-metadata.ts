import type { Pool } from 'mysql2'

/** The data that mysql2 keeps about a prepared statement: its text, and the descriptions of its values and columns. */
interface Kept {
  query: string
  columns: readonly unknown[]
  parameters: readonly unknown[]
}

interface Keeper {
  readonly _statements: { set(key: string, statement: Kept): void }
}

/**
 * Afterwards the pool's connections keep of each prepared statement its number. mysql2 keeps the descriptions, too, with
 * the packets they came in: 40 KB for an insert of a few hundred values, on every connection that has run it. It has no use for those of columns, and MariaDB describes no value.
 */
export function dropStatementMetadata(pool: Pool): void {
  pool.on('connection', (connection) => {
    const { _statements: statements } = connection as unknown as Keeper
    const keep = statements.set.bind(statements)
    statements.set = (key, statement) => {
      keep(key, Object.assign(statement, { query: '', columns: [], parameters: [] }))
    }
  })
}
