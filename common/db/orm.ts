import { DrizzleQueryError } from 'drizzle-orm'
import {
  MySqlDialect,
  type MySqlPreparedQueryConfig,
  type PreparedQueryKind,
} from 'drizzle-orm/mysql-core'
import { MySql2Database, type MySql2PreparedQueryHKT, MySql2Session } from 'drizzle-orm/mysql2'
import type { PoolConnection } from 'mysql2'
import type { PoolConnection as PromiseConnection } from 'mysql2/promise'
import { readOrWrite, timed } from './execute.ts'
import { databaseFailure } from './failures.ts'

type Prepared<T extends MySqlPreparedQueryConfig> = PreparedQueryKind<MySql2PreparedQueryHKT, T>

/**
 * Drizzle wraps every failure into an error whose message has the statement's values in it, secrets included. Here a
 * failure leaves a query as it leaves a prepared statement: `unavailable`, or what the driver threw.
 */
class Session extends MySql2Session<Record<string, never>, Record<string, never>> {
  override prepareQuery<T extends MySqlPreparedQueryConfig>(
    ...args: Parameters<MySql2Session<Record<string, never>, Record<string, never>>['prepareQuery']>
  ): Prepared<T> {
    const prepared = super.prepareQuery<T>(...args)
    const execute = prepared.execute.bind(prepared)
    prepared.execute = async (values: Parameters<typeof execute>[0]) => {
      try {
        return await execute(values)
      } catch (error) {
        throw databaseFailure(error instanceof DrizzleQueryError ? error.cause : error)
      }
    }
    return prepared
  }
}

const dialect = new MySqlDialect()

/** Drizzle's query builder on the connection of a transaction; `before` runs before each query. */
export function ormOfTransaction(
  connect: () => Promise<PoolConnection>,
  before: (text: string) => Promise<void>,
): MySql2Database {
  return ormOn(async (text, work) => {
    await before(text)
    return work(await connect())
  })
}

/** Runs work, which sends the text of a query, on a connection that it has for itself meanwhile. */
export type On = <T>(text: string, work: (connection: PoolConnection) => Promise<T>) => Promise<T>

/** Drizzle's query builder on connections that `on` gives. */
export function ormOn(on: On): MySql2Database {
  const session = new Session(clientOf(on), dialect, undefined, { mode: 'default' })
  return new MySql2Database(dialect, session, undefined, 'default')
}

/** What drizzle uses of a client. */
function clientOf(on: On): PromiseConnection {
  const client: Pick<PromiseConnection, 'query' | 'execute'> = {
    query: (...args: unknown[]) =>
      on(textOf(args), (connection) =>
        timed(
          () => readOrWrite(textOf(args)),
          () => connection.promise().query(...(args as Parameters<PromiseConnection['query']>)),
        ),
      ),
    execute: (...args: unknown[]) =>
      on(textOf(args), (connection) =>
        timed(
          () => readOrWrite(textOf(args)),
          () => connection.promise().execute(...(args as Parameters<PromiseConnection['execute']>)),
        ),
      ),
  }
  return client as PromiseConnection
}

/** Drizzle gives the text alone, or with options. */
function textOf([query]: readonly unknown[]): string {
  return typeof query === 'string' ? query : (query as { readonly sql: string }).sql
}
