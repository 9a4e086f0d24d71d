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

/**
 * Afterwards an account named like the database may do everything in it and nothing elsewhere: a cell's
 * credential opens that cell's database only. It logs in from `host`, a pattern. Names and passwords are ours, so they
 * are plain.
 */
export async function databaseUser(
  rootUrl: string,
  database: string,
  password: string,
  host = LOOPBACK,
): Promise<void> {
  if (!/^\w+$/.test(database) || !/^[0-9a-f]+$/.test(password))
    throw new Error(`Database ${database} or its password is not plain`)
  const account = `\`${database}\`@'${host}'`
  // The database of a GRANT is a pattern, in which _ matches any character.
  const pattern = database.replaceAll('_', '\\_')
  const connection = await createConnection(connectionTo(rootUrl))
  try {
    await connection.query(`CREATE USER IF NOT EXISTS ${account}`)
    await connection.query(`ALTER USER ${account} IDENTIFIED BY '${password}'`)
    await connection.query(`GRANT ALL PRIVILEGES ON \`${pattern}\`.* TO ${account}`)
  } finally {
    await connection.end()
  }
}
