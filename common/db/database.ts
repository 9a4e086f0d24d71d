import type { MySql2Database } from 'drizzle-orm/mysql2'
import { createPool, type Pool, type PoolConnection, type ResultSetHeader } from 'mysql2'
import { databaseFailure, isDeadlock } from './failures.ts'
import { ormOn } from './orm.ts'
import type { Statement } from './statement.ts'

/** Something SQL can be run on: the pool, or one open transaction. */
export interface Executor {
  /** For statements off the hot path. */
  readonly orm: MySql2Database
  /** Runs a prepared statement that changes rows; `affectedRows` counts matched rows (mysql2 sets FOUND_ROWS). */
  run(statement: Statement, values: StatementValues): Promise<ResultSetHeader>
  /** Runs a prepared query; columns come under their database names, JSON columns come parsed. */
  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]>
}

/** A database: what runs outside a transaction commits by itself. */
export interface Transactional extends Executor {
  /**
   * Runs `work` in one transaction and commits once. `work` is run again from its start after a deadlock
   * (bounded), so it must only touch the transaction and values of its own.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

export type StatementValues = Readonly<Record<string, unknown>>

/** An executor whose statements commit together or not at all. */
export interface Tx extends Executor {
  readonly transactional: true
}

export interface DatabaseOptions {
  /** mysql://user:password@host:port/database */
  readonly url: string
  /** For transactions, and as many for statements that commit by themselves. */
  readonly connectionsMax: number
}

const TRIES_MAX = 6
const CONNECT_TIMEOUT_MS = 5_000
/** More waiting statements than this mean the database is far behind: better a quick 503 than a long queue. */
const WAITING_MAX = 2_000

/** Connections to one database. Failures leave it as `unavailable` (gone, overloaded) or untouched. */
export class Database implements Transactional, AsyncDisposable {
  readonly orm: MySql2Database
  readonly #pool: Pool
  /** Their connections begin a transaction with its first statement: a round trip less than BEGIN. */
  readonly #transactions: Pool

  constructor(options: DatabaseOptions) {
    this.#pool = openPool(options, true)
    this.#transactions = openPool(options, false)
    this.orm = ormOn(this.#pool.promise())
  }

  run(statement: Statement, values: StatementValues): Promise<ResultSetHeader> {
    return execute<ResultSetHeader>(this.#pool, statement, values)
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return execute<readonly Row[]>(this.#pool, statement, values)
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(work)
      } catch (error) {
        if (!isDeadlock(error) || tries === TRIES_MAX) throw databaseFailure(error)
      }
    }
  }

  async #once<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const connection = await connectionOf(this.#transactions)
    try {
      const result = await work(new OpenTransaction(connection))
      await end(connection, 'COMMIT')
      connection.release()
      return result
    } catch (error) {
      await end(connection, 'ROLLBACK').then(
        () => connection.release(),
        () => connection.destroy(),
      )
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.promise().end(), this.#transactions.promise().end()])
  }
}

function openPool(options: DatabaseOptions, autocommit: boolean): Pool {
  const pool = createPool({
    uri: options.url,
    connectionLimit: options.connectionsMax,
    maxIdle: options.connectionsMax,
    queueLimit: WAITING_MAX,
    connectTimeout: CONNECT_TIMEOUT_MS,
    timezone: 'Z',
    enableKeepAlive: true,
  })
  // READ COMMITTED: no gap locks, so conditional updates on neighbouring rows do not deadlock.
  pool.on('connection', (connection) => {
    connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    connection.query(`SET SESSION time_zone = '+00:00', autocommit = ${autocommit ? 1 : 0}`)
  })
  return pool
}

class OpenTransaction implements Tx {
  readonly transactional = true
  readonly #connection: PoolConnection
  #orm: MySql2Database | undefined

  constructor(connection: PoolConnection) {
    this.#connection = connection
  }

  /** Made on first use: hot transactions run prepared statements only. */
  get orm(): MySql2Database {
    this.#orm ??= ormOn(this.#connection.promise())
    return this.#orm
  }

  run(statement: Statement, values: StatementValues): Promise<ResultSetHeader> {
    return execute<ResultSetHeader>(this.#connection, statement, values)
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return execute<readonly Row[]>(this.#connection, statement, values)
  }
}

/** By callback: mysql2's own promises take a stack trace at every statement, which costs as much as the statement. */
function execute<Result>(
  on: Pool | PoolConnection,
  statement: Statement,
  values: StatementValues,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    on.execute(statement.text, statement.bind(values), (error: Error | null, result: unknown) => {
      if (error === null) resolve(result as Result)
      else reject(databaseFailure(error))
    })
  })
}

function connectionOf(pool: Pool): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error === null) resolve(connection)
      else reject(error)
    })
  })
}

function end(connection: PoolConnection, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(how, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}
