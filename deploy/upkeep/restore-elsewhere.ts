import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { connectionTo } from '#common/db/connection-options.ts'
import { withDatabase } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import { openBackup } from './backup-file.ts'
import { assertRestorable, restoreBackup } from './restore-backup.ts'

export interface Elsewhere {
  /** Of the database; its user may create databases on the server. */
  readonly url: string
  /** Of the secrets in the backup. */
  readonly keyFile: string
  /** True: what the database holds now may be lost. */
  readonly mayReplace: boolean
}

/** Afterwards the database of a URL is as in the file. Throws `conflict` where it holds tables that may not be lost. */
export async function restoreElsewhere(
  file: string,
  { url, keyFile, mayReplace }: Elsewhere,
): Promise<void> {
  const database = decodeURIComponent(new URL(url).pathname.slice(1))
  if (database === '')
    throw new Failure(
      'invalid',
      `--to ${shown(url)} names no database: mysql://USER:PASSWORD@HOST:PORT/DATABASE`,
    )
  const backup = await openBackup(file)
  assertRestorable(backup, keyFile)
  const rootUrl = (name = '') => withDatabase(url, name)
  const connection = await createConnection(connectionTo(rootUrl()))
  try {
    await connection.query(
      `CREATE DATABASE IF NOT EXISTS \`${database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    )
    const [tables] = await connection.query<RowDataPacket[]>(`SHOW TABLES FROM \`${database}\``)
    if (tables.length > 0 && !mayReplace)
      throw new Failure(
        'conflict',
        `Database ${database} at ${shown(url)} has tables, which would be lost. Stop its programs, and run the command with --yes.`,
      )
  } finally {
    await connection.end()
  }
  await restoreBackup(backup, { rootUrl, database, keyFile })
}

function shown(url: string): string {
  return new URL(url).host
}
