import type { ExecuteValues, Pool, PoolConnection } from 'mysql2'
import type { Bound } from './compound.ts'
import { databaseFailure } from './failures.ts'

/** By callback: mysql2's own promises take a stack trace at every statement, which costs as much as the statement. */
export function execute<Result>(
  on: Pool | PoolConnection,
  { text, values }: Bound,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    on.execute(text, values as ExecuteValues, (error: Error | null, result: unknown) => {
      if (error === null) resolve(result as Result)
      else reject(databaseFailure(error))
    })
  })
}

/** Ends the transaction that is open on the connection. */
export function simple(on: PoolConnection, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  return new Promise((resolve, reject) => {
    on.query(how, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}
