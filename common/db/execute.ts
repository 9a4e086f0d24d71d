import type { ExecuteValues, PoolConnection } from 'mysql2'
import { secondsSince } from '../metrics/measure.ts'
import { type StatementEnd, statementMeasure } from '../metrics/measures.ts'
import type { Bound } from './compound.ts'
import { databaseFailure } from './failures.ts'
import { isRead } from './retry.ts'

/** Reports how long the database took to answer; without anyone who counts, it is only `work`. */
export function timed<Result>(
  kind: () => StatementEnd['kind'],
  work: () => Promise<Result>,
): Promise<Result> {
  if (!statementMeasure.isOn) return work()
  const startedAt = performance.now()
  const end = (isFailed: boolean) =>
    statementMeasure.report({ kind: kind(), seconds: secondsSince(startedAt), isFailed })
  return work().then(
    (result) => {
      end(false)
      return result
    },
    (error: unknown) => {
      end(true)
      throw error
    },
  )
}

/** Which of both a statement is. */
export function readOrWrite(text: string): 'read' | 'write' {
  return isRead(text) ? 'read' : 'write'
}

/** By callback: mysql2's own promises take a stack trace at every statement, which costs as much as the statement. */
export function execute<Result>(on: PoolConnection, { text, values }: Bound): Promise<Result> {
  const run = () =>
    new Promise<Result>((resolve, reject) => {
      on.execute(text, values as ExecuteValues, (error: Error | null, result: unknown) => {
        if (error === null) resolve(result as Result)
        else reject(databaseFailure(error))
      })
    })
  return timed(() => readOrWrite(text), run)
}

/** The same without preparing it: the statement goes as text with its values in it. */
export function executeText<Result>(
  on: PoolConnection,
  { text, values }: Bound,
  kind: StatementEnd['kind'] = readOrWrite(text),
): Promise<Result> {
  const run = () =>
    new Promise<Result>((resolve, reject) => {
      on.query(text, values.map(asSent), (error: Error | null, result: unknown) => {
        if (error === null) resolve(result as Result)
        else reject(databaseFailure(error))
      })
    })
  return timed(() => kind, run)
}

/**
 * The same of a compound. Prepared it would take some 200 KB of the server on every connection that has run it, and there
 * are as many compounds as numbers of rows that travel together.
 */
export function executeCompound<Result>(on: PoolConnection, bound: Bound): Promise<Result> {
  return executeText(on, bound, 'compound')
}

/** As a prepared statement sends it: mysql2 writes an object into a text as assignments, and a list as many values. */
function asSent(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return value instanceof Date || Buffer.isBuffer(value) ? value : JSON.stringify(value)
}

/** Ends the transaction that is open on the connection. */
export function simple(on: PoolConnection, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  const run = () =>
    new Promise<void>((resolve, reject) => {
      on.query(how, (error) => {
        if (error === null) resolve()
        else reject(error)
      })
    })
  return timed(() => 'commit', run)
}
