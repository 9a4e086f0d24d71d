import { DrizzleQueryError } from 'drizzle-orm'
import {
  MySqlDialect,
  type MySqlPreparedQueryConfig,
  type PreparedQueryKind,
} from 'drizzle-orm/mysql-core'
import { MySql2Database, type MySql2PreparedQueryHKT, MySql2Session } from 'drizzle-orm/mysql2'
import type { PoolConnection } from 'mysql2'
import type { PoolConnection as PromiseConnection } from 'mysql2/promise'
import { databaseFailure } from './failures.ts'
import { isAway, isRead, isWithoutEffect, retried } from './retry.ts'

type Prepared<T extends MySqlPreparedQueryConfig> = PreparedQueryKind<MySql2PreparedQueryHKT, T>

/** Runs a query of a session, and again where that is right. */
type Around = <T>(text: string, once: () => Promise<T>) => Promise<T>

/**
 * Drizzle wraps every failure into an error whose message has the statement's values in it, secrets included. Here a
 * failure leaves a query as it leaves a prepared statement: `unavailable`, or what the driver threw.
 */
class Session extends MySql2Session<Record<string, never>, Record<string, never>> {
  around: Around = (_, once) => once()

  override prepareQuery<T extends MySqlPreparedQueryConfig>(
    ...args: Parameters<MySql2Session<Record<string, never>, Record<string, never>>['prepareQuery']>
  ): Prepared<T> {
    const prepared = super.prepareQuery<T>(...args)
    const execute = prepared.execute.bind(prepared)
    const once = async (values: Parameters<typeof execute>[0]) => {
      try {
        return await execute(values)
      } catch (error) {
        throw databaseFailure(error instanceof DrizzleQueryError ? error.cause : error)
      }
    }
    const [{ sql: text }] = args
    prepared.execute = (values) => this.around(text, () => once(values))
    return prepared
  }
}

const dialect = new MySqlDialect()

/** Drizzle's query builder on connections on which queries commit by themselves; queries are repeated as a database repeats statements. */
export function ormOfDatabase(on: On, retryMs: number): MySql2Database {
  return ormOn(on, (text, once) => retried(once, retryMs, isRead(text) ? isAway : isWithoutEffect))
}

/** The same on the connection of a transaction; `before` runs before each query. A deadlock undoes all of the transaction, so no query alone is run again. */
export function ormOfTransaction(
  connect: () => Promise<PoolConnection>,
  before: (text: string) => Promise<void>,
): MySql2Database {
  return ormOn(
    async (work) => work(await connect()),
    async (text, once) => {
      await before(text)
      return once()
    },
  )
}

/** Runs work on a connection that it has for itself meanwhile. */
type On = <T>(work: (connection: PoolConnection) => Promise<T>) => Promise<T>

function ormOn(on: On, around: Around): MySql2Database {
  const session = new Session(clientOf(on), dialect, undefined, { mode: 'default' })
  session.around = around
  return new MySql2Database(dialect, session, undefined, 'default')
}

/** What drizzle uses of a client. */
function clientOf(on: On): PromiseConnection {
  const client: Pick<PromiseConnection, 'query' | 'execute'> = {
    query: (...args: unknown[]) =>
      on((connection) =>
        connection.promise().query(...(args as Parameters<PromiseConnection['query']>)),
      ),
    execute: (...args: unknown[]) =>
      on((connection) =>
        connection.promise().execute(...(args as Parameters<PromiseConnection['execute']>)),
      ),
  }
  return client as PromiseConnection
}
