import type { MySql2Database } from 'drizzle-orm/mysql2'
import { createPool, type Pool, type PoolConnection } from 'mysql2'
import { type Bound, compound, type Expected, failedExpectation } from './compound.ts'
import { execute } from './execute.ts'
import { databaseFailure, isDeadlock } from './failures.ts'
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

/** A database: what runs outside a transaction commits by itself. */
export interface Transactional extends Executor {
  /**
   * Runs `work` in one transaction and commits once. `work` is run again from its start after a deadlock
   * (bounded), so it must only touch the transaction and values of its own.
   */
  transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T>
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
  /** Runs what is queued now: needed before a statement whose failure the caller survives. */
  flush(): Promise<void>
  /** Called once this transaction has committed, and never where it has not. */
  afterCommit(done: () => void): void
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
/** Prepared at a time, those least used given up first: the server allows 16,382 to all its clients together. */
const STATEMENTS_PER_CONNECTION_MAX = 256

/** More values than this gain nothing from travelling together, and would make statements of ever new shapes. */
const VALUES_TOGETHER_MAX = 600

/** How many rows the statement before it matched: of a compound the driver tells only the sum. */
const COUNT: Bound = { text: 'select row_count() as affectedRows', values: [] }
const COMMIT: Bound = { text: 'commit', values: [] }

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

  run(statement: Statement, values: StatementValues): Promise<Changed> {
    return execute<Changed>(this.#pool, boundOf(statement, values))
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return execute<readonly Row[]>(this.#pool, boundOf(statement, values))
  }

  async transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(work)
      } catch (error) {
        if (!isDeadlock(error) || tries === TRIES_MAX) throw databaseFailure(error)
      }
    }
  }

  async #once<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    const connection = await connectionOf(this.#transactions)
    const tx = new OpenTransaction(connection)
    try {
      const result = await work(tx)
      await tx.commit()
      connection.release()
      tx.committed()
      return result
    } catch (error) {
      await tx.rollback().then(
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

/**
 * One open transaction on one connection. What is queued goes out, in order, with the next statement that is waited
 * for, at the latest with the commit: a round trip costs both ends more than most statements do.
 */
export class OpenTransaction implements Tx {
  readonly transactional = true
  readonly #connection: PoolConnection
  #queue: Bound[] = []
  readonly #afterCommit: (() => void)[] = []
  #valuesQueued = 0
  /** Of a compound nobody knows how far it came: whoever caught its failure must not go on and commit. */
  #broken: { readonly error: unknown } | undefined
  #orm: MySql2Database | undefined

  constructor(connection: PoolConnection) {
    this.#connection = connection
  }

  /** Made on first use: hot transactions run prepared statements only. */
  get orm(): MySql2Database {
    this.#orm ??= ormOn(this.#connection.promise(), () => this.flush())
    return this.#orm
  }

  queue(statement: Statement, values: StatementValues, expected?: Expected): void {
    const bound = boundOf(statement, values)
    this.#queue.push({ ...bound, expected })
    this.#valuesQueued += bound.values.length
  }

  async run(statement: Statement, values: StatementValues): Promise<Changed> {
    const own = boundOf(statement, values)
    if (!(await this.#mayJoin(own))) return execute<Changed>(this.#connection, own)
    const [counts] = await this.#send<[readonly Changed[]]>([own, COUNT])
    return counts[0]!
  }

  async rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    const own = boundOf(statement, values)
    if (!(await this.#mayJoin(own))) return execute<readonly Row[]>(this.#connection, own)
    const [rows] = await this.#send<[readonly Row[]]>([own])
    return rows
  }

  async flush(): Promise<void> {
    if (await this.#mayJoin({ text: '', values: [] })) await this.#send([])
  }

  /** Afterwards everything queued and run is durable. */
  async commit(): Promise<void> {
    if (await this.#mayJoin(COMMIT)) await this.#send([COMMIT])
    else await this.#simple('COMMIT')
  }

  afterCommit(done: () => void): void {
    this.#afterCommit.push(done)
  }

  /** Tells those who wanted to know; the connection may be another's by now. */
  committed(): void {
    for (const done of this.#afterCommit) done()
  }

  rollback(): Promise<void> {
    return this.#simple('ROLLBACK')
  }

  /** False when nothing is queued, or nothing is any more because it was too much for one statement. */
  async #mayJoin(next: Bound): Promise<boolean> {
    if (this.#broken !== undefined) throw this.#broken.error
    if (this.#queue.length === 0) return false
    if (this.#valuesQueued + next.values.length <= VALUES_TOGETHER_MAX) return true
    const queue = this.#takeQueue()
    await this.#unlessBroken(async () => {
      for (const each of queue) {
        const { affectedRows } = await execute<Changed>(this.#connection, each)
        if (each.expected !== undefined && affectedRows !== each.expected.rows)
          throw each.expected.otherwise()
      }
    })
    return false
  }

  #send<Result>(last: readonly Bound[]): Promise<Result> {
    const parts = [...this.#takeQueue(), ...last]
    return this.#unlessBroken(() =>
      execute<Result>(this.#connection, compound(parts)).catch((error: unknown) => {
        throw failedExpectation(error, parts) ?? error
      }),
    )
  }

  async #unlessBroken<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      this.#broken = { error }
      throw error
    }
  }

  #takeQueue(): readonly Bound[] {
    const queue = this.#queue
    this.#queue = []
    this.#valuesQueued = 0
    return queue
  }

  #simple(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#connection.query(how, (error) => {
        if (error === null) resolve()
        else reject(error)
      })
    })
  }
}

function boundOf(statement: Statement, values: StatementValues): Bound {
  return { text: statement.text, values: statement.bind(values) }
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
    maxPreparedStatements: STATEMENTS_PER_CONNECTION_MAX,
  })
  // READ COMMITTED: no gap locks, so conditional updates on neighbouring rows do not deadlock.
  pool.on('connection', (connection) => {
    connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    connection.query(`SET SESSION time_zone = '+00:00', autocommit = ${autocommit ? 1 : 0}`)
  })
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
