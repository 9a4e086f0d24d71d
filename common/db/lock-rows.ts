import { type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn, MySqlTable } from 'drizzle-orm/mysql-core'
import type { ResultSetHeader } from 'mysql2'
import type { Tx } from './database.ts'

/** A table whose rows can be locked: it has the column `lockVersion`. */
type Lockable = MySqlTable & { readonly lockVersion: MySqlColumn }

/**
 * Locks the rows until the transaction ends, and returns how many there are. `order` says in which order, where there may
 * be several. The rows are changed: the nodes of a cluster do not know of each other's SELECT … FOR UPDATE, and refuse
 * the later of two transactions that change one row.
 */
export async function lockRows(
  tx: Tx,
  table: Lockable,
  where: SQL | undefined,
  order?: MySqlColumn,
): Promise<number> {
  const [result] = await tx.orm.execute(sql`update ${table} set lock_version = lock_version + 1
    ${where === undefined ? sql`` : sql`where ${where}`}
    ${order === undefined ? sql`` : sql`order by ${order}`}`)
  return (result as unknown as ResultSetHeader).affectedRows
}
