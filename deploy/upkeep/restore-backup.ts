import { renewIncarnation } from '#cells/db/feed.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { Failure } from '#common/errors.ts'
import { afterRestore } from '#gateway/app/after-restore.ts'
import { restoreDatabases } from '../mariadb/database-user.ts'
import { backupHeader, migrationsOf, type OpenBackup } from './backup-file.ts'
import { loadDatabase } from './load-database.ts'
import { dropDatabase, replaceDatabase } from './replace-database.ts'

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
  const { draft } = restoreDatabases(database)
  await dropDatabase(rootUrl(), draft)
  await migrateDatabase(rootUrl(draft), migrationsOf(kind))
  await loadDatabase(rootUrl(draft), lines)
  {
    await using db = new Database({ url: rootUrl(draft), connectionsMax: CONNECTIONS })
    await (kind === 'gateway' ? afterRestore(db) : renewIncarnation(db))
  }
  await replaceDatabase(rootUrl(), database, draft)
}
