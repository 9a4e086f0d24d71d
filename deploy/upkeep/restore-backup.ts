import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { renewIncarnation } from '#cells/db/feed.ts'
import { connectionTo } from '#common/db/connection-options.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { Failure } from '#common/errors.ts'
import { afterRestore } from '#gateway/app/after-restore.ts'
import { backupHeader, migrationsOf, type OpenBackup } from './backup-file.ts'
import { loadDatabase } from './load-database.ts'

export interface RestoreTarget {
  /** A root's, of the server; `database` appended. */
  readonly rootUrl: (database?: string) => string
  readonly database: string
  /** Of the secrets sealed in it. */
  readonly keyFile: string
}

const CONNECTIONS = 2

/** Throws `conflict` where the backup's tables, or the key of its secrets, are not those in use here. */
export function assertRestorable({ header }: OpenBackup, keyFile: string): void {
  const own = backupHeader(header.of, keyFile)
  if (own.schema !== header.schema)
    throw new Failure(
      'conflict',
      `The backup of ${header.takenAt} was made by another release, whose tables differ. Restore it with that release, then upgrade.`,
    )
  if (own.key !== header.key)
    throw new Failure(
      'conflict',
      `The backup contains secrets that ${keyFile} does not open. Restore the key file from the time of the backup.`,
    )
}

/**
 * Afterwards the database is as in the backup, and its readers will notice: a cell's has a new incarnation, the
 * gateways' asks for full copies. Stop all processes that use it first. If this fails before its end the database is
 * as it was.
 */
export async function restoreBackup(
  { header, lines }: OpenBackup,
  { rootUrl, database }: RestoreTarget,
): Promise<void> {
  const { kind } = header.of
  const draft = `${database}_restore`
  await drop(rootUrl(), draft)
  await migrateDatabase(rootUrl(draft), migrationsOf(kind))
  await loadDatabase(rootUrl(draft), lines)
  {
    await using db = new Database({ url: rootUrl(draft), connectionsMax: CONNECTIONS })
    await (kind === 'gateway' ? afterRestore(db) : renewIncarnation(db))
  }
  await replace(rootUrl(), database, draft)
}

async function drop(url: string, database: string): Promise<void> {
  const connection = await createConnection(connectionTo(url))
  await connection.query(`DROP DATABASE IF EXISTS \`${database}\``)
  await connection.end()
}

/** MariaDB renames tables and not databases; all of them in one statement, which is done or is not. */
async function replace(url: string, database: string, draft: string): Promise<void> {
  const connection = await createConnection(connectionTo(url))
  const old = `${database}_before_restore`
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
