import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseUrls, withDatabase } from '#common/db/database-url.ts'
import { type TestServices, testServices } from './services.ts'

const WRITER_LIMIT_MS = 10_000

/**
 * The URL of a new, empty database (as MariaDB's root), for one test file, on the run's MariaDB by default. `name` only
 * helps to read logs.
 */
export async function freshDatabase(name: string, services?: TestServices): Promise<string> {
  const { databaseRootUrl } = services ?? (await testServices())
  const database = `${name.replaceAll(/\W/g, '_').slice(0, 40)}_${randomBytes(4).toString('hex')}`
  const uri = await findWriter(databaseUrls(databaseRootUrl), WRITER_LIMIT_MS)
  const connection = await createConnection({ uri })
  try {
    await connection.query(
      `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    )
  } finally {
    await connection.end()
  }
  return withDatabase(databaseRootUrl, database)
}
