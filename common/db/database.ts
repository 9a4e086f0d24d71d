import type { MySql2Database } from 'drizzle-orm/mysql2'
import type { PoolConnection } from 'mysql2'
import { isKeptWork } from '../kept-work.ts'
import { ClusterConnections } from './cluster-connections.ts'
import { CommitUnknown, isRepeatable, TransactionTries } from './commit-unknown.ts'
import { type Bound, COMMIT, compound, type Expected } from './compound.ts'
import { databaseUrls } from './database-url.ts'
import { execute, executeCompound, simple } from './execute.ts'
import { GroupCommit } from './group-commit.ts'
import { interleaveStatements } from './interleave-statements.ts'
import { boundOf, OpenTransaction } from './open-transaction.ts'
import { ormOn } from './orm.ts'
import type { PoolOptions } from './pool.ts'
import { isAway, isCut, isRead, isWithoutEffect, NotReached, retried } from './retry.ts'
import {
  type ConnectionKind,
  type Connections,
  type ConnectionUse,
  ServerPools,
} from './server-pools.ts'
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

/**
 * A database. What has had no effect because of a deadlock, or because the database could not serve, is run again
 * (bounded): a statement that commits by itself, and a whole transaction.
 */
export interface Transactional extends Executor {
  /**
   * Runs `work` in one transaction and commits once. `work` may be run again from its start, so it must only touch the
   * transaction and values of its own. Where the connection ends under the commit, the database is asked whether the
   * transaction has committed: the result is that of the transaction that has.
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
  /**
   * Shows, where the connection ends under the commit, whether this transaction has committed. For a transaction with a
   * row of its own; any other gets a marker if the database keeps them.
   */
  shownBy(hasCommitted: HasCommitted): void
}

/** Looks in the database for the trace of a transaction. */
export type HasCommitted = (db: Transactional) => Promise<boolean>

export interface DatabaseOptions extends PoolOptions {
  /** How long work that had no effect is repeated while the database cannot serve; absent: not at all. */
  readonly retryMs?: number
  /** True for a database with the table `commit_markers`, in which transactions then leave a mark of their commit. */
  readonly marksCommits?: boolean
  /** Called before the commit of each transaction that has written; what it queues is in the same commit. */
  readonly beforeCommit?: (tx: Tx) => void
}

/** What ends when a database is given up: all work, or all but `keptWork`. */
export type GivenUp = 'all' | 'but-kept'

/** Connections to one database, on one server or on the writer of a cluster. Failures leave it as `unavailable` (gone, overloaded) or untouched. */
export class Database implements Transactional, AsyncDisposable {
  readonly orm: MySql2Database
  readonly #connections: Connections
  readonly #retryMs: number
  readonly #marksCommits: boolean
  readonly #beforeCommit: DatabaseOptions['beforeCommit']
  readonly #listeners = new Set<() => void>()
  #givenUp: GivenUp | undefined
  #answeredAt = Number.NEGATIVE_INFINITY
  readonly #groupCommit = new GroupCommit((transactions) => this.#together(transactions))

  constructor(options: DatabaseOptions) {
    const urls = databaseUrls(options.url)
    this.#connections =
      urls.length === 1 ? new ServerPools(options) : new ClusterConnections(urls, options)
    this.#retryMs = options.retryMs ?? 0
    this.#marksCommits = options.marksCommits ?? false
    this.#beforeCommit = options.beforeCommit
    this.orm = ormOn((text, work) => this.#byItself(work, isRead(text)))
  }

  /** Its connections at this moment. */
  get use(): ConnectionUse {
    return this.#connections.use
  }

  /** When it last carried something out, by `performance.now()`. */
  get answeredAt(): number {
    return this.#answeredAt
  }

  /** Ends at once what runs or waits here, and all work until `resume`, with `unavailable`: for a program whose work another one can do. */
  giveUp(what: GivenUp): void {
    this.#givenUp = what
    this.#connections.giveUp()
  }

  /** Afterwards work is done again. */
  resume(): void {
    this.#givenUp = undefined
  }

  #isGivenUp(): boolean {
    return this.#givenUp === 'all' || (this.#givenUp !== undefined && !isKeptWork())
  }

  run(statement: Statement, values: StatementValues): Promise<Changed> {
    return this.#bound(boundOf(statement, values))
  }

  rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    return this.#bound(boundOf(statement, values))
  }

  #bound<Result>(bound: Bound): Promise<Result> {
    const work = (connection: PoolConnection) => execute<Result>(connection, bound)
    return this.#byItself(work, isRead(bound.text) || isIdempotent(bound))
  }

  /** Runs one statement. One that may not be repeated blindly is a transaction where these leave marks: nothing else shows its effect when its connection ends. */
  #byItself<T>(
    work: (connection: PoolConnection) => Promise<T>,
    mayRepeatBlindly: boolean,
  ): Promise<T> {
    if (this.#marksCommits && !mayRepeatBlindly)
      return this.#settled(
        (tx) => tx.write(work),
        () => {},
      )
    const mayRepeat = mayRepeatBlindly ? isAway : isWithoutEffect
    return this.#retried(() => this.#onConnection(work), mayRepeat)
  }

  /** Runs work on a connection that it has for itself meanwhile. */
  async #onConnection<T>(work: (connection: PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect('autocommit')
    try {
      const result = await work(connection)
      this.#answeredAt = performance.now()
      return result
    } finally {
      connection.release()
    }
  }

  transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T> {
    return this.#settled(work, () => {
      for (const listener of this.#listeners) listener()
    })
  }

  #settled<T>(
    work: (tx: OpenTransaction) => Promise<T> | T,
    whenCommitted: () => void,
  ): Promise<T> {
    const tries = new TransactionTries<T>(this, this.#retryMs)
    const once = () => this.#once(work, whenCommitted)
    return this.#retried(() => tries.settle(once), isRepeatable)
  }

  #retried<T>(work: () => Promise<T>, mayRepeat: (error: unknown) => boolean): Promise<T> {
    return retried(work, this.#retryMs, (error) => !this.#isGivenUp() && mayRepeat(error))
  }

  async #connect(kind: ConnectionKind): Promise<PoolConnection> {
    if (this.#isGivenUp()) throw new NotReached(new Error('The database is given up.'))
    return this.#connections.connect(kind)
  }

  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #once<T>(
    work: (tx: OpenTransaction) => Promise<T> | T,
    whenCommitted: () => void,
  ): Promise<T> {
    const tx = new OpenTransaction({
      connect: () => this.#connect('transactions'),
      commitTogether: (entry) => this.#groupCommit.commit(entry),
      marksCommits: this.#marksCommits,
      beforeCommit: this.#beforeCommit,
    })
    let result: T
    try {
      result = await work(tx)
    } catch (error) {
      await tx.rollback()
      // Its commit was never sent, however its connection ended.
      throw isCut(error) ? new NotReached(error) : error
    }
    const committed = () => {
      this.#answeredAt = performance.now()
      tx.committed()
      whenCommitted()
      return result
    }
    try {
      await tx.commit()
    } catch (error) {
      await tx.rollback()
      const { hasCommitted } = tx
      if (hasCommitted === undefined || !isCut(error)) throw error
      throw new CommitUnknown(error, { hasCommitted, committed })
    }
    return committed()
  }

  /** All of them in one transaction, or none: then false. */
  async #together(transactions: readonly (readonly Bound[])[]): Promise<boolean> {
    const connection = await this.#connect('transactions')
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
      if (!isOver || isCut(error)) throw error
      return false
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]()
  }
}

/** True where running it again changes nothing more. */
function isIdempotent({ sums }: Bound): boolean {
  return sums?.length === 0
}
