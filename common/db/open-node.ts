import { type Connection, createConnection } from 'mysql2/promise'
import { connectionTo } from './connection-options.ts'
import { codeOf } from './failures.ts'

/** A connection to one server, in the database of its URL if that was made already. */
export async function openNode(url: string, connectTimeout: number): Promise<Connection> {
  const server = new URL(url)
  const name = decodeURIComponent(server.pathname.slice(1))
  server.pathname = ''
  const connection = await createConnection({ ...connectionTo(server.href), connectTimeout })
  if (name === '') return connection
  try {
    await connection.query({
      sql: `USE \`${name.replaceAll('`', '``')}\``,
      timeout: connectTimeout,
    })
  } catch (error) {
    if (codeOf(error) === 'ER_BAD_DB_ERROR') return connection
    connection.destroy()
    throw error
  }
  return connection
}
