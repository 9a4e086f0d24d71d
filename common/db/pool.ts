import { createPool, type Pool } from 'mysql2'
import { connectionTo } from './connection-options.ts'
import { destroyStalledConnections } from './destroy-stalled-connections.ts'
import { dropStatementMetadata } from './drop-statement-metadata.ts'
import { setSession } from './set-session.ts'

export interface PoolOptions {
  /** mysql://user:password@host:port/database, with a comma between the host:port of several servers */
  readonly url: string
  readonly connectionsMax: number
  /** How long a statement may go without a sign of the database; absent: longer than a lock is waited for. */
  readonly responseTimeoutMs?: number
}

const CONNECT_TIMEOUT_MS = 5_000
/** Twice what the databases of `./weir up` let a statement wait for a lock; longer than any statement here works. */
const RESPONSE_TIMEOUT_MS = 20_000
/**
 * A transaction of which the database hears nothing more for so long is rolled back: the locks of a program that is cut
 * off, or whose machine is lost, would last as long as the database keeps its connections, for hours. Others who wait for
 * one lock, and then for a second one of that program, must still get both within the time for which they repeat their work.
 */
const IDLE_TRANSACTION_S = 3
/** More waiting statements than this mean the database is far behind: better a quick 503 than a long queue. */
const WAITING_MAX = 2_000
/** Prepared at a time, those least used given up first: the server allows 16,382 to all its clients together. */
const STATEMENTS_PER_CONNECTION_MAX = 128

/** Connections to one server. Without `autocommit` a connection begins a transaction with its first statement: a round trip less than BEGIN. */
export function openPool(options: PoolOptions, autocommit: boolean): Pool {
  const pool = createPool({
    ...connectionTo(options.url),
    connectionLimit: options.connectionsMax,
    maxIdle: options.connectionsMax,
    queueLimit: WAITING_MAX,
    connectTimeout: CONNECT_TIMEOUT_MS,
    timezone: 'Z',
    enableKeepAlive: true,
    gracefulEnd: true,
    maxPreparedStatements: STATEMENTS_PER_CONNECTION_MAX,
  })
  dropStatementMetadata(pool)
  // READ COMMITTED: no gap locks, so conditional updates on neighbouring rows do not deadlock.
  pool.on('connection', (connection) => {
    setSession(connection, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    // mysql2 escapes quotes in a compound's values with backslashes: in this mode they would escape nothing.
    // Where it is not strict, a value that is missing or too long would become another one.
    setSession(
      connection,
      "SET SESSION sql_mode = concat('STRICT_TRANS_TABLES,', replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''))",
    )
    // Only MariaDB reads this comment; no other database has the variable.
    setSession(
      connection,
      `SET SESSION time_zone = '+00:00', autocommit = ${autocommit ? 1 : 0} /*M!, idle_transaction_timeout = ${IDLE_TRANSACTION_S} */`,
    )
  })
  destroyStalledConnections(pool, options.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS)
  return pool
}
