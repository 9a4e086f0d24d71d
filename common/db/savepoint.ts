import type { PoolConnection } from 'mysql2'
import type { Bound } from './compound.ts'

const SAVEPOINT = 'savepoint begun'
export const RELEASE: Bound = { text: 'release savepoint begun', values: [] }

const answers = new WeakMap<PoolConnection, Promise<boolean>>()

/**
 * Marks the beginning of a transaction on Galera; false on a database that needs no such mark. When another node overtakes a
 * transaction while the server prepares a statement of it, MariaDB (seen with 10.11.19) drops what the transaction has done
 * so far and reports nothing: what follows would commit alone. The savepoint is dropped too, so `RELEASE` then fails.
 */
export async function setSavepoint(connection: PoolConnection): Promise<boolean> {
  const known = answers.get(connection) ?? isGalera(connection)
  answers.set(connection, known)
  if (!(await known)) return false
  await send(connection, SAVEPOINT)
  return true
}

async function isGalera(connection: PoolConnection): Promise<boolean> {
  const rows = await send(connection, "show variables like 'wsrep_on'")
  return rows.some((row) => (row as { readonly Value: string }).Value === 'ON')
}

/** The failure of releasing the savepoint; undefined if the transaction is whole. */
export function failureOfRelease(connection: PoolConnection): Promise<unknown> {
  return send(connection, RELEASE.text).then(
    () => undefined,
    (error: unknown) => error,
  )
}

function send(connection: PoolConnection, text: string): Promise<readonly object[]> {
  return new Promise((resolve, reject) => {
    connection.query(text, (error, rows) => {
      if (error === null) resolve(rows as readonly object[])
      else reject(error)
    })
  })
}
