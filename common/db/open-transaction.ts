import type { MySql2Database } from 'drizzle-orm/mysql2'
import type { PoolConnection } from 'mysql2'
import { newCommitMarker } from './commit-markers.ts'
import {
  BATCH_VALUES_MAX,
  type Bound,
  COMMIT,
  compound,
  type Expected,
  failedExpectation,
} from './compound.ts'
import type { Changed, HasCommitted, StatementValues, Tx } from './database.ts'
import { execute, executeCompound, executeText, simple } from './execute.ts'
import { isGalera } from './galera.ts'
import type { Entry } from './group-commit.ts'
import { ormOfTransaction } from './orm.ts'
import { isRead } from './retry.ts'
import type { Statement } from './statement.ts'

/** How many rows the statement before it matched: of a compound the driver tells only the sum. */
const COUNT: Bound = { text: 'select row_count() as affectedRows', values: [] }

/** The part of a database that a transaction uses. */
export interface TransactionIo {
  /** A connection of its own. */
  connect(): Promise<PoolConnection>
  /** Commits a transaction whose statements are all queued, alone or together with others. */
  commitTogether(entry: Entry): Promise<void>
  /** True where transactions leave a mark of their commit. */
  readonly marksCommits: boolean
  readonly beforeCommit: ((tx: Tx) => void) | undefined
}

/**
 * One transaction, on a connection from the first statement that is awaited. Queued statements go out, in order, with
 * that statement, at the latest with the commit: a round trip costs both ends more than most statements do. A
 * transaction that only queues may share its round trip with others like it.
 */
export class OpenTransaction implements Tx {
  readonly transactional = true
  readonly #io: TransactionIo
  #connected: Promise<PoolConnection> | undefined
  #queue: Bound[] = []
  readonly #afterCommit: (() => void)[] = []
  #valuesQueued = 0
  /** It is unknown how far a compound came that failed: after its failure the transaction must not commit. */
  #broken: { readonly error: unknown } | undefined
  #orm: MySql2Database | undefined
  #hasWritten = false
  #hasCommitted: HasCommitted | undefined

  constructor(io: TransactionIo) {
    this.#io = io
  }

  /** Made on first use: hot transactions run prepared statements only. */
  get orm(): MySql2Database {
    this.#orm ??= ormOfTransaction(
      () => this.#connection(),
      (text) => {
        this.#hasWritten ||= !isRead(text)
        return this.flush()
      },
    )
    return this.#orm
  }

  /** Runs work that changes rows on the connection of the transaction, which has nothing queued. */
  async write<T>(work: (connection: PoolConnection) => Promise<T>): Promise<T> {
    this.#hasWritten = true
    return work(await this.#connection())
  }

  queue(statement: Statement, values: StatementValues, expected?: Expected): void {
    this.#hasWritten = true
    this.#push({ ...boundOf(statement, values), expected })
  }

  async run(statement: Statement, values: StatementValues): Promise<Changed> {
    this.#hasWritten = true
    const own = boundOf(statement, values)
    if (!(await this.#mayJoin(own))) return this.#execute<Changed>(own)
    const [counts] = await this.#send<[readonly Changed[]]>([own, COUNT])
    return counts[0]!
  }

  async rows<Row>(statement: Statement, values: StatementValues): Promise<readonly Row[]> {
    const own = boundOf(statement, values)
    if (!(await this.#mayJoin(own))) return this.#execute<readonly Row[]>(own)
    const [rows] = await this.#send<[readonly Row[]]>([own])
    return rows
  }

  async flush(): Promise<void> {
    if (await this.#mayJoin({ text: '', values: [] })) await this.#send([])
  }

  shownBy(hasCommitted: HasCommitted): void {
    this.#hasCommitted = hasCommitted
  }

  /** Looks whether this transaction has committed; undefined where nothing shows it. */
  get hasCommitted(): HasCommitted | undefined {
    return this.#hasCommitted
  }

  /** Afterwards everything queued and run is durable. */
  async commit(): Promise<void> {
    if (this.#hasWritten) this.#io.beforeCommit?.(this)
    if (this.#io.marksCommits && this.#hasWritten && this.#hasCommitted === undefined) {
      const { insert, hasCommitted } = newCommitMarker()
      this.#hasCommitted = hasCommitted
      this.#push(insert)
    }
    const isKnownWhole = this.#connected === undefined && this.#valuesQueued <= BATCH_VALUES_MAX
    const parts = this.#queue
    if (isKnownWhole && parts.length > 0)
      await this.#io.commitTogether({ parts, alone: () => this.#commit() })
    else await this.#commit()
  }

  /** Tells those who wait for it that this transaction has committed. */
  committed(): void {
    for (const done of this.#afterCommit) done()
  }

  async #commit(): Promise<void> {
    if (this.#connected === undefined && this.#queue.length === 0) return
    const connection = await this.#connection()
    if (await this.#mayJoin(COMMIT)) await this.#send([COMMIT])
    else await simple(connection, 'COMMIT')
    connection.release()
  }

  /** Afterwards the transaction is rolled back, as far as the database can be reached. */
  async rollback(): Promise<void> {
    const connection = await this.#connected?.catch(() => undefined)
    if (connection === undefined) return
    await simple(connection, 'ROLLBACK').then(
      () => connection.release(),
      () => connection.destroy(),
    )
  }

  afterCommit(done: () => void): void {
    this.#afterCommit.push(done)
  }

  /** False when nothing is queued, or nothing is any more because it was too much for one statement. */
  async #mayJoin(next: Bound): Promise<boolean> {
    if (this.#broken !== undefined) throw this.#broken.error
    if (this.#queue.length === 0) return false
    if (this.#valuesQueued + next.values.length <= BATCH_VALUES_MAX) return true
    const queue = this.#takeQueue()
    await this.#unlessBroken(async () => {
      for (const each of queue) {
        const { affectedRows } = await this.#execute<Changed>(each)
        if (each.expected !== undefined && affectedRows !== each.expected.rows)
          throw each.expected.otherwise()
      }
    })
    return false
  }

  #send<Result>(last: readonly Bound[]): Promise<Result> {
    const parts = [...this.#takeQueue(), ...last]
    return this.#unlessBroken(async () => {
      const connection = await this.#connection()
      return executeCompound<Result>(connection, compound(parts)).catch((error: unknown) => {
        throw failedExpectation(error, parts) ?? error
      })
    })
  }

  async #unlessBroken<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      this.#broken = { error }
      throw error
    }
  }

  #push(bound: Bound): void {
    this.#queue.push(bound)
    this.#valuesQueued += bound.values.length
  }

  #connection(): Promise<PoolConnection> {
    this.#connected ??= this.#io.connect()
    return this.#connected
  }

  /**
   * Runs one statement. On Galera it goes as text: when another node overtakes a transaction while the server prepares a
   * statement of it, MariaDB (seen with 10.11.19) drops what the transaction has done so far and reports nothing, and what
   * follows would commit alone.
   */
  async #execute<Result>(bound: Bound): Promise<Result> {
    const connection = await this.#connection()
    return (await isGalera(connection))
      ? executeText<Result>(connection, bound)
      : execute<Result>(connection, bound)
  }

  #takeQueue(): readonly Bound[] {
    const queue = this.#queue
    this.#queue = []
    this.#valuesQueued = 0
    return queue
  }
}

/** The statement with its values. */
export function boundOf(statement: Statement, values: StatementValues): Bound {
  const { text, sums, keys } = statement
  return { text, values: statement.bind(values), sums, keys }
}
