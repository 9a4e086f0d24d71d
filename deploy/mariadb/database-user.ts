import { createConnection } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'

const LOOPBACK = '127.0.0.1'

/** Afterwards neither the database nor its account is there. */
export async function dropDatabaseUser(
  rootUrl: string,
  database: string,
  host = LOOPBACK,
): Promise<void> {
  const connection = await createConnection(connectionTo(rootUrl))
  try {
    await connection.query(`DROP DATABASE IF EXISTS \`${database}\``)
    await connection.query(`DROP USER IF EXISTS \`${database}\`@'${host}'`)
  } finally {
    await connection.end()
  }
}

/** Those that a restore of a database makes and removes. */
export function restoreDatabases(database: string) {
  return { draft: `${database}_restore`, former: `${database}_before_restore` } as const
}

/** Of a GRANT, in which `_` matches any character. */
export function grantPattern(database: string): string {
  return `\`${database.replaceAll('_', '\\_')}\``
}

/**
 * Afterwards an account named like the database may do everything in it and nothing elsewhere: a cell's
 * credential opens that cell's database only. It logs in from `host`, a pattern, and may restore the database where
 * `mayRestore`. Names and passwords are ours, so they are plain.
 */
export async function databaseUser(
  rootUrl: string,
  database: string,
  password: string,
  { host = LOOPBACK, mayRestore = false } = {},
): Promise<void> {
  if (!/^\w+$/.test(database) || !/^[0-9a-f]+$/.test(password))
    throw new Error(`Database ${database} or its password is not plain`)
  const account = `\`${database}\`@'${host}'`
  const databases = [database, ...(mayRestore ? Object.values(restoreDatabases(database)) : [])]
  const connection = await createConnection(connectionTo(rootUrl))
  try {
    await connection.query(`CREATE USER IF NOT EXISTS ${account}`)
    await connection.query(`ALTER USER ${account} IDENTIFIED BY '${password}'`)
    for (const pattern of databases.map(grantPattern))
      await connection.query(`GRANT ALL PRIVILEGES ON ${pattern}.* TO ${account}`)
  } finally {
    await connection.end()
  }
}
