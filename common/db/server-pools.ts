import type { Pool, PoolConnection } from 'mysql2'
import { databaseFailure } from './failures.ts'
import { openPool, type PoolOptions } from './pool.ts'
import { isAway, NotReached } from './retry.ts'
import { setSession, socketOf } from './set-session.ts'

/** Statements on `autocommit` commit by themselves; on `transactions` they begin a transaction. */
export type ConnectionKind = 'autocommit' | 'transactions'

/** Connections at this moment, and the work that waits for one. */
export interface ConnectionUse {
  readonly open: number
  readonly busy: number
  readonly waiting: number
}

/** Gives connections to a database. */
export interface Connections extends AsyncDisposable {
  readonly use: ConnectionUse
  /** A connection of its own, to be released. Throws `NotReached` for a database that is away. */
  connect(kind: ConnectionKind): Promise<PoolConnection>
  /** Ends at once what runs and what waits for a connection, as if the database had died. */
  giveUp(): void
}

/** What a socket fails with whose server is given up. */
class GivenUp extends Error {
  readonly code = 'ECONNRESET'

  constructor() {
    super('The database server is given up.')
  }
}

/** The connections to one server. */
export class ServerPools implements Connections {
  readonly #pools: Readonly<Record<ConnectionKind, Pool>>
  readonly #open = new Set<PoolConnection>()
  readonly #busy = new Set<PoolConnection>()
  readonly #waiting = new Set<(error: NotReached) => void>()
  /** Those whose reads wait until the node has applied what others in its cluster have committed. */
  readonly #causal = new WeakSet<PoolConnection>()
  readonly #causalUntil: number

  /** `causalMs`: how long reads are to miss nothing that programs commit on other nodes of its cluster. */
  constructor(options: PoolOptions, causalMs = 0) {
    this.#causalUntil = performance.now() + causalMs
    this.#pools = {
      autocommit: openPool(options, true),
      transactions: openPool(options, false),
    }
    for (const pool of Object.values(this.#pools)) {
      pool.on('connection', (connection) => {
        this.#open.add(connection)
        socketOf(connection).once('close', () => {
          this.#open.delete(connection)
          this.#busy.delete(connection)
        })
      })
      pool.on('release', (connection) => this.#busy.delete(connection))
    }
  }

  get use(): ConnectionUse {
    return { open: this.#open.size, busy: this.#busy.size, waiting: this.#waiting.size }
  }

  connect(kind: ConnectionKind): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      this.#pools[kind].getConnection((error, connection) => {
        const isAwaited = this.#waiting.delete(reject)
        if (error !== null) reject(isAway(error) ? new NotReached(error) : databaseFailure(error))
        else if (isAwaited) {
          this.#busy.add(connection)
          this.#setCausal(connection)
          resolve(connection)
        } else connection.release()
      })
    })
  }

  /** What is sent on the connection next comes after it. */
  #setCausal(connection: PoolConnection): void {
    const isCausal = performance.now() < this.#causalUntil
    if (isCausal === this.#causal.has(connection)) return
    if (isCausal) this.#causal.add(connection)
    else this.#causal.delete(connection)
    setSession(connection, `SET SESSION wsrep_sync_wait = ${isCausal ? 1 : 0}`)
  }

  giveUp(): void {
    for (const reject of this.#waiting) reject(new NotReached(new GivenUp()))
    this.#waiting.clear()
    for (const connection of this.#open) socketOf(connection).destroy(new GivenUp())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.promise().end()))
  }
}
