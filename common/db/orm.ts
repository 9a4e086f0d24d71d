import { DrizzleQueryError } from 'drizzle-orm'
import {
  MySqlDialect,
  type MySqlPreparedQueryConfig,
  type PreparedQueryKind,
} from 'drizzle-orm/mysql-core'
import { MySql2Database, type MySql2PreparedQueryHKT, MySql2Session } from 'drizzle-orm/mysql2'
import type { Pool, PoolConnection } from 'mysql2/promise'
import { databaseFailure, withoutDeadlock } from './failures.ts'

type Prepared<T extends MySqlPreparedQueryConfig> = PreparedQueryKind<MySql2PreparedQueryHKT, T>

/**
 * Drizzle wraps every failure into an error whose message has the statement's values in it, secrets included. Here a
 * failure leaves a query as it leaves a prepared statement: `unavailable`, or what the driver threw.
 */
class Session extends MySql2Session<Record<string, never>, Record<string, never>> {
  /** Run before every query of a transaction; undefined where each query commits by itself. */
  before: (() => Promise<void>) | undefined

  override prepareQuery<T extends MySqlPreparedQueryConfig>(
    ...args: Parameters<MySql2Session<Record<string, never>, Record<string, never>>['prepareQuery']>
  ): Prepared<T> {
    const prepared = super.prepareQuery<T>(...args)
    const execute = prepared.execute.bind(prepared)
    const once = async (values: Parameters<typeof execute>[0]) => {
      try {
        await this.before?.()
        return await execute(values)
      } catch (error) {
        throw databaseFailure(error instanceof DrizzleQueryError ? error.cause : error)
      }
    }
    // A deadlock undoes the whole transaction that a query is in, so that the query alone cannot be run again.
    prepared.execute = (values) =>
      this.before === undefined ? withoutDeadlock(() => once(values)) : once(values)
    return prepared
  }
}

const dialect = new MySqlDialect()

/** Drizzle's query builder on a pool. */
export function ormOn(client: Pool): MySql2Database
/** The same on a connection to be had when it is needed; `before` runs before each query. */
export function ormOn(
  connect: () => Promise<PoolConnection>,
  before: () => Promise<void>,
): MySql2Database
export function ormOn(
  on: Pool | (() => Promise<PoolConnection>),
  before?: () => Promise<void>,
): MySql2Database {
  const client = typeof on === 'function' ? later(on) : on
  const session = new Session(client, dialect, undefined, { mode: 'default' })
  session.before = before
  return new MySql2Database(dialect, session, undefined, 'default')
}

/** What drizzle asks of a connection. */
function later(connect: () => Promise<PoolConnection>): PoolConnection {
  const client: Pick<PoolConnection, 'query' | 'execute'> = {
    query: async (...args: unknown[]) =>
      (await connect()).query(...(args as Parameters<PoolConnection['query']>)),
    execute: async (...args: unknown[]) =>
      (await connect()).execute(...(args as Parameters<PoolConnection['execute']>)),
  }
  return client as PoolConnection
}
