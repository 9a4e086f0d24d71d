import { MySql2Database } from 'drizzle-orm/mysql2'

/** Runs a statement with this text. */
export type Through = <T>(text: string, work: () => Promise<T>) => Promise<T>

/** The same query builder, whose statements are run by `through`. */
export function ormThrough(orm: MySql2Database, through: Through): MySql2Database {
  const { session, dialect } = orm as unknown as Inner
  const passing = Object.create(session, {
    prepareQuery: {
      value: (...args: Parameters<Session['prepareQuery']>) => {
        const prepared = session.prepareQuery(...args)
        const execute = prepared.execute.bind(prepared)
        prepared.execute = (values) => through(args[0].sql, () => execute(values))
        return prepared
      },
    },
  }) as never
  return new MySql2Database(dialect as never, passing, undefined, 'default')
}

interface Session {
  prepareQuery(
    query: { readonly sql: string },
    ...rest: unknown[]
  ): { execute(values?: unknown): Promise<unknown> }
}
interface Inner {
  readonly session: Session
  readonly dialect: unknown
}
