import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { withDatabase } from '#common/db/database-url.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { Failure } from '#common/errors.ts'
import { MIGRATIONS_FOLDER } from '#gateway/db/readiness.ts'
import { dumpDatabase } from '../upkeep/dump-database.ts'
import { loadDatabase } from '../upkeep/load-database.ts'
import { dropDatabase, replaceDatabase } from '../upkeep/replace-database.ts'
import { type GtidPosition, onServer } from './replication.ts'

/**
 * Afterwards the database `to` has every row of the database `from` as it was at one moment, instead of what it had.
 * Returns the position of that moment. Users of `from` are not disturbed. Throws `conflict` where `from` has the tables of
 * another release.
 */
export async function copyDatabase(from: string, to: string): Promise<GtidPosition> {
  const name = new URL(to).pathname.slice(1)
  const draft = `${name}_restore`
  const server = withDatabase(to, '')
  await dropDatabase(server, draft)
  await migrateDatabase(withDatabase(to, draft), MIGRATIONS_FOLDER)
  const own = await onServer(withDatabase(to, draft), newestMigration)
  let position: GtidPosition = ''
  const lines = new PassThrough()
  const dumped = dumpDatabase(from, lines, async (connection) => {
    if ((await newestMigration(connection)) !== own)
      throw new Failure(
        'conflict',
        'The active site runs another release. Bring both sites to the same release first.',
      )
    position = await snapshotPosition(connection)
  }).finally(() => lines.end())
  const loaded = loadDatabase(withDatabase(to, draft), createInterface({ input: lines }))
  await Promise.all([dumped, loaded])
  await onServer(server, (connection) =>
    connection.query(
      `CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    ),
  )
  await replaceDatabase(server, name, draft)
  return position
}

async function newestMigration(connection: Connection): Promise<number> {
  const [[row]] = await connection.query<RowDataPacket[]>(
    'SELECT MAX(created_at) AS newest FROM __drizzle_migrations',
  )
  return Number(row?.['newest'])
}

/** Of the snapshot that the connection reads. */
async function snapshotPosition(connection: Connection): Promise<GtidPosition> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'binlog_snapshot_%'")
  const status = new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]))
  const [file, position] = ['Binlog_snapshot_file', 'Binlog_snapshot_position'].map((name) =>
    status.get(name),
  )
  if (file === undefined || file === '')
    throw new Failure(
      'unsupported',
      'The database of the active site keeps no log of its changes. Run there: ./weir standby prepare',
    )
  const [[row]] = await connection.query<RowDataPacket[]>('SELECT BINLOG_GTID_POS(?, ?) AS p', [
    file,
    Number(position),
  ])
  return String(row?.['p'] ?? '')
}
