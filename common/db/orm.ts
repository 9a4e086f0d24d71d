import { DrizzleQueryError } from 'drizzle-orm'
import {
  MySqlDialect,
  type MySqlPreparedQueryConfig,
  type PreparedQueryKind,
} from 'drizzle-orm/mysql-core'
import { MySql2Database, type MySql2PreparedQueryHKT, MySql2Session } from 'drizzle-orm/mysql2'
import type { Pool, PoolConnection } from 'mysql2/promise'
import { databaseFailure } from './failures.ts'

type Prepared<T extends MySqlPreparedQueryConfig> = PreparedQueryKind<MySql2PreparedQueryHKT, T>

/**
 * Drizzle wraps every failure into an error whose message has the statement's values in it, secrets included. Here a
 * failure leaves a query as it leaves a prepared statement: `unavailable`, or what the driver threw.
 */
class Session extends MySql2Session<Record<string, never>, Record<string, never>> {
  /** Run before every query. */
  before: (() => Promise<void>) | undefined

  override prepareQuery<T extends MySqlPreparedQueryConfig>(
    ...args: Parameters<MySql2Session<Record<string, never>, Record<string, never>>['prepareQuery']>
  ): Prepared<T> {
    const prepared = super.prepareQuery<T>(...args)
    const execute = prepared.execute.bind(prepared)
    prepared.execute = async (values) => {
      try {
        await this.before?.()
        return await execute(values)
      } catch (error) {
        throw databaseFailure(error instanceof DrizzleQueryError ? error.cause : error)
      }
    }
    return prepared
  }
}

const dialect = new MySqlDialect()

/** Drizzle's query builder on a pool or one of its connections; `before` runs before each of its queries. */
export function ormOn(client: Pool | PoolConnection, before?: () => Promise<void>): MySql2Database {
  const session = new Session(client, dialect, undefined, { mode: 'default' })
  session.before = before
  return new MySql2Database(dialect, session, undefined, 'default')
}
