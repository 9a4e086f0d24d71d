import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'
import { restoreDatabases } from '../mariadb/database-user.ts'

/** Afterwards the server has no such database. */
export async function dropDatabase(url: string, database: string): Promise<void> {
  const connection = await createConnection(connectionTo(url))
  await connection.query(`DROP DATABASE IF EXISTS \`${database}\``)
  await connection.end()
}

/**
 * Afterwards the database has the tables of the draft, which is gone. MariaDB renames tables and not databases; all of them in
 * one statement, which is done or is not.
 */
export async function replaceDatabase(url: string, database: string, draft: string): Promise<void> {
  const connection = await createConnection(connectionTo(url))
  const { former: old } = restoreDatabases(database)
  try {
    const tablesOf = async (name: string) => {
      const [rows] = await connection.query<RowDataPacket[]>(`SHOW TABLES FROM \`${name}\``)
      return rows.map((row) => String(Object.values(row)[0]))
    }
    await connection.query(`DROP DATABASE IF EXISTS \`${old}\``)
    await connection.query(`CREATE DATABASE \`${old}\``)
    const moves = [
      ...(await tablesOf(database)).map((table) => [table, database, old]),
      ...(await tablesOf(draft)).map((table) => [table, draft, database]),
    ]
    const renames = moves.map(
      ([table, from, to]) => `\`${from}\`.\`${table}\` TO \`${to}\`.\`${table}\``,
    )
    await connection.query(`RENAME TABLE ${renames.join(', ')}`)
    for (const name of [old, draft]) await connection.query(`DROP DATABASE \`${name}\``)
  } finally {
    await connection.end()
  }
}
