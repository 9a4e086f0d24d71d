import type { MySql2Database } from 'drizzle-orm/mysql2'
import { createPool, type Pool, type PoolConnection } from 'mysql2'
import { type Bound, COMMIT, compound, type Expected } from './compound.ts'
import { dropStatementMetadata } from './drop-statement-metadata.ts'
import { endSilentConnections } from './end-silent-connections.ts'
import { execute, executeCompound, simple } from './execute.ts'
import { withoutDeadlock } from './failures.ts'
import { GroupCommit } from './group-commit.ts'
import { interleaveStatements } from './interleave-statements.ts'
import { boundOf, OpenTransaction } from './open-transaction.ts'
import { ormOn } from './orm.ts'
import type { Statement } from './statement.ts'

/** Something SQL can be run on: the pool, or one open transaction. */
export interface Executor {
  /** For statements off the hot path. */
  readonly orm: MySql2Database
  /** Runs a prepared statement that changes rows. */
  run(statement: Statement, values: StatementValues): Promise<Changed>
  /** Runs a prepared query; columns come under their database names, JSON columns come parsed. */
  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]>
}

/** A database: what runs outside a transaction commits by itself, and is run again after a deadlock (bounded). */
export interface Transactional extends Executor {
  /**
   * Runs `work` in one transaction and commits once. `work` is run again from its start after a deadlock
   * (bounded), so it must only touch the transaction and values of its own.
   */
  transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T>
  /** Calls `listener` after each transaction of this process that has committed; returns how to stop it. */
  onCommit(listener: () => void): () => void
}

export type StatementValues = Readonly<Record<string, unknown>>

export interface Changed {
  /** Matched rows, whether or not they were changed by it (mysql2 sets FOUND_ROWS). */
  readonly affectedRows: number
}

/** An executor whose statements commit together or not at all. */
export interface Tx extends Executor {
  readonly transactional: true
  /**
   * Runs a statement later, in its turn: together with the next one that is waited for, or with the commit. For
   * writes whose outcome decides nothing; a failure of one ends the transaction.
   */
  queue(statement: Statement, values: StatementValues, expected?: Expected): void
  /** Runs the queued statements now: needed before a statement whose failure the caller survives. */
  flush(): Promise<void>
  /** Called once this transaction has committed, and never where it has not. */
  afterCommit(done: () => void): void
}

export interface DatabaseOptions {
  /** mysql://user:password@host:port/database */
  readonly url: string
  /** For transactions, and as many for statements that commit by themselves. */
  readonly connectionsMax: number
  /** How long a statement may go without a sign of the database; absent: longer than a lock is waited for. */
  readonly silenceMaxMs?: number
}

const CONNECT_TIMEOUT_MS = 5_000
/** Twice what the databases of `./weir up` let a statement wait for a lock; longer than any statement here works. */
const SILENCE_MAX_MS = 20_000
/** More waiting statements than this mean the database is far behind: better a quick 503 than a long queue. */
const WAITING_MAX = 2_000
/** Prepared at a time, those least used given up first: the server allows 16,382 to all its clients together. */
const STATEMENTS_PER_CONNECTION_MAX = 128

/** Connections to one database. Failures leave it as `unavailable` (gone, overloaded) or untouched. */
export class Database implements Transactional, AsyncDisposable {
  readonly orm: MySql2Database
  readonly #pool: Pool
  /** Their connections begin a transaction with its first statement: a round trip less than BEGIN. */
  readonly #transactions: Pool
  readonly #listeners = new Set<() => void>()
  readonly #groupCommit = new GroupCommit((transactions) => this.#together(transactions))

  constructor(options: DatabaseOptions) {
    this.#pool = openPool(options, true)
    this.#transactions = openPool(options, false)
    this.orm = ormOn(this.#pool.promise())
  }

  run(statement: Statement, values: StatementValues): Promise<Changed> {
    return withoutDeadlock(() => execute<Changed>(this.#pool, boundOf(statement, values)))
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return withoutDeadlock(() => execute<readonly Row[]>(this.#pool, boundOf(statement, values)))
  }

  transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    return withoutDeadlock(() => this.#once(work))
  }

  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #once<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    const tx = new OpenTransaction({
      connect: () => connectionOf(this.#transactions),
      commitTogether: (entry) => this.#groupCommit.commit(entry),
    })
    try {
      const result = await work(tx)
      await tx.commit()
      for (const listener of this.#listeners) listener()
      return result
    } catch (error) {
      await tx.rollback()
      throw error
    }
  }

  /** All of them in one transaction, or none: then false. */
  async #together(transactions: readonly (readonly Bound[])[]): Promise<boolean> {
    const connection = await connectionOf(this.#transactions)
    try {
      await executeCompound(connection, compound([...interleaveStatements(transactions), COMMIT]))
      connection.release()
      return true
    } catch (error) {
      // Where it is not known whether they committed, none of them may be run again.
      const isOver = await simple(connection, 'ROLLBACK').then(
        () => true,
        () => false,
      )
      if (isOver) connection.release()
      else connection.destroy()
      if (!isOver) throw error
      return false
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
    gracefulEnd: true,
    maxPreparedStatements: STATEMENTS_PER_CONNECTION_MAX,
  })
  dropStatementMetadata(pool)
  // READ COMMITTED: no gap locks, so conditional updates on neighbouring rows do not deadlock.
  pool.on('connection', (connection) => {
    connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    // mysql2 escapes quotes in a compound's values with backslashes: in this mode they would escape nothing.
    connection.query("SET SESSION sql_mode = replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')")
    connection.query(`SET SESSION time_zone = '+00:00', autocommit = ${autocommit ? 1 : 0}`)
  })
  endSilentConnections(pool, options.silenceMaxMs ?? SILENCE_MAX_MS)
  return pool
}

function connectionOf(pool: Pool): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error === null) resolve(connection)
      else reject(error)
    })
  })
}
