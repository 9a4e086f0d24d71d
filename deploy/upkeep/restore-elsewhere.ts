import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { connectionTo } from '#common/db/connection-options.ts'
import { databaseUrls, withDatabase } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import { openBackup } from './backup-file.ts'
import { assertRestorable, restoreBackup } from './restore-backup.ts'

/** How long no server of a cluster may take statements. */
const WRITER_LIMIT_MS = 10_000

export interface Elsewhere {
  /** Of the database, on one server or on all of a cluster; its user may create databases there. */
  readonly url: string
  /** Of the secrets in the backup. */
  readonly keyFile: string
  /** True: what the database holds now may be lost. */
  readonly mayReplace: boolean
}

/** Afterwards the database of a URL is as in the file. Throws as `assertRestorableElsewhere`. */
export async function restoreElsewhere(file: string, place: Elsewhere): Promise<void> {
  const { backup, keyFile, ...at } = await readyElsewhere(file, place)
  await restoreBackup(backup, { ...at, keyFile })
}

/** Throws `conflict` where the database of a URL holds tables that may not be lost, and `invalid` where the key does not open the file. */
export async function assertRestorableElsewhere(file: string, place: Elsewhere): Promise<void> {
  const { backup } = await readyElsewhere(file, place)
  backup.close()
}

async function readyElsewhere(file: string, { url: given, keyFile, mayReplace }: Elsewhere) {
  const urls = databaseUrls(given)
  const database = decodeURIComponent(new URL(urls[0]).pathname.slice(1))
  if (database === '')
    throw new Failure(
      'invalid',
      `--to ${shown(urls[0])} names no database: mysql://USER:PASSWORD@HOST:PORT/DATABASE`,
    )
  const backup = await openBackup(file)
  assertRestorable(backup, keyFile)
  const url = await findWriter(urls, WRITER_LIMIT_MS)
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
  return { backup, rootUrl, database, keyFile }
}

function shown(url: string): string {
  return new URL(url).host
}
