import { setTimeout as sleep } from 'node:timers/promises'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/mysql2'
import { migrate } from 'drizzle-orm/mysql2/migrator'
import {
  type Connection,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2/promise'
import { Failure } from '../errors.ts'
import { newId } from '../ids.ts'
import { findWriter } from './cluster-nodes.ts'
import { connectionTo } from './connection-options.ts'
import { databaseUrls } from './database-url.ts'
import { codeOf, isOvertaken } from './failures.ts'
import { beginElections } from './node-state.ts'
import { isWithoutEffect, retried } from './retry.ts'

/** A process that ended while it migrated loses the lock after this time. */
const LOCK_TTL_S = 30
const RENEW_MS = 10_000
const LOCK_WAIT_MS = 120_000
const LOCK_PAUSE_MS = 200
/** A cluster whose nodes have just found each other may lose its majority for some seconds on a busy disk. */
const WRITER_WAIT_MS = 30_000
const CONFLICT_RETRY_MS = 10_000

/** Afterwards the database exists and has every migration of the folder. Any number of processes may call it at once. */
export async function migrateDatabase(
  databaseUrl: string,
  migrationsFolder: string,
): Promise<void> {
  const url = await findWriter(databaseUrls(databaseUrl), WRITER_WAIT_MS)
  const { pathname } = new URL(url)
  const name = decodeURIComponent(pathname.slice(1))
  if (!/^[A-Za-z0-9_]+$/.test(name)) throw new Error(`Database name '${name}' is not plain`)
  const server = new URL(url)
  server.pathname = ''
  const connection = await createConnection(connectionTo(server.href))
  try {
    await connection.query(
      `CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    )
    await connection.query(`USE \`${name}\``)
    await beginElections(connection)
    if (await hasAll(connection, migrationsFolder)) return
    await using _lock = await MigrationLock.take(connection, url)
    if (!(await hasAll(connection, migrationsFolder)))
      await migrate(drizzle(connection), { migrationsFolder })
  } finally {
    await connection.end()
  }
}

/** True when the newest migration of the folder has been applied. */
async function hasAll(connection: Connection, migrationsFolder: string): Promise<boolean> {
  const newest = readMigrationFiles({ migrationsFolder }).at(-1)?.folderMillis ?? 0
  const read = () =>
    connection.query<RowDataPacket[]>('SELECT MAX(created_at) AS applied FROM __drizzle_migrations')
  try {
    // While another node makes the table, a cluster ends what reads it as a deadlock.
    const [rows] = await retried(read, 0, isOvertaken)
    return Number(rows[0]?.['applied'] ?? 0) >= newest
  } catch (error) {
    if (codeOf(error) === 'ER_NO_SUCH_TABLE') return false
    throw error
  }
}

/**
 * Lets one process at a time migrate a database. A row, because a cluster of databases gives one GET_LOCK to a client on
 * each of its nodes.
 */
class MigrationLock implements AsyncDisposable {
  readonly #url: string
  readonly #holder: string
  readonly #timer: NodeJS.Timeout

  private constructor(url: string, holder: string) {
    this.#url = url
    this.#holder = holder
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), RENEW_MS)
  }

  /** Throws `unavailable` when another process keeps it for too long. */
  static async take(connection: Connection, url: string): Promise<MigrationLock> {
    const holder = newId<string>()
    await connection.query(`CREATE TABLE IF NOT EXISTS migration_lock (
      id int PRIMARY KEY, holder varchar(36) NOT NULL, expires_at datetime(3) NOT NULL)`)
    await changed(connection, "INSERT IGNORE INTO migration_lock VALUES (1, '', now(3))", [])
    const until = performance.now() + LOCK_WAIT_MS
    while (!(await isTaken(connection, holder))) {
      if (performance.now() > until)
        throw new Failure(
          'unavailable',
          `Another process has been migrating the database for ${LOCK_WAIT_MS / 1_000} s. Look at its log.`,
        )
      await sleep(LOCK_PAUSE_MS)
    }
    return new MigrationLock(url, holder)
  }

  /** On a connection of its own: the other one may be at work on one long statement. */
  async #renew(): Promise<void> {
    await this.#set(`expires_at = now(3) + INTERVAL ${LOCK_TTL_S} SECOND`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#set("holder = ''")
  }

  async #set(what: string): Promise<void> {
    const connection = await createConnection(connectionTo(this.#url))
    try {
      await changed(connection, `UPDATE migration_lock SET ${what} WHERE id = 1 AND holder = ?`, [
        this.#holder,
      ])
    } finally {
      await connection.end()
    }
  }
}

async function isTaken(connection: Connection, holder: string): Promise<boolean> {
  const rows = await changed(
    connection,
    `UPDATE migration_lock SET holder = ?, expires_at = now(3) + INTERVAL ${LOCK_TTL_S} SECOND
     WHERE id = 1 AND (holder = '' OR expires_at < now(3))`,
    [holder],
  )
  return rows === 1
}

/** How many rows the statement changed; nodes of a cluster refuse the later of two changes of one row, which then looks again. */
function changed(connection: Connection, text: string, values: readonly string[]): Promise<number> {
  const once = async () => {
    const [result] = await connection.query<ResultSetHeader>(text, [...values])
    return result.affectedRows
  }
  return retried(once, CONFLICT_RETRY_MS, isWithoutEffect)
}
