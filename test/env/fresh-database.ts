import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { type TestServices, testServices } from './services.ts'

/**
 * The URL of a new, empty database (as MariaDB's root), for one test file, on the run's MariaDB by default. `name` only
 * helps to read logs.
 */
export async function freshDatabase(name: string, services?: TestServices): Promise<string> {
  const { databaseRootUrl } = services ?? (await testServices())
  const database = `${name.replaceAll(/\W/g, '_').slice(0, 40)}_${randomBytes(4).toString('hex')}`
  const connection = await createConnection({ uri: databaseRootUrl })
  try {
    await connection.query(
      `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    )
  } finally {
    await connection.end()
  }
  const url = new URL(databaseRootUrl)
  url.pathname = database
  return url.href
}
