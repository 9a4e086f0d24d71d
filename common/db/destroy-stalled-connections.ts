import type { Pool, PoolConnection } from 'mysql2'
import { socketOf } from './set-session.ts'

/**
 * Afterwards a connection on which no byte has come or gone for `ms` is ended. If it is in use, its callers get a failure
 * instead of waiting until the system gives up the connection. If it is idle, the database frees its memory: after a
 * burst few connections stay open. This costs a statement nothing: the socket keeps its one timer.
 */
export function destroyStalledConnections(pool: Pool, ms: number): void {
  const used = new WeakSet<PoolConnection>()
  pool.on('acquire', (connection) => used.add(connection))
  pool.on('release', (connection) => used.delete(connection))
  pool.on('connection', (connection) => {
    const socket = socketOf(connection)
    socket.setTimeout(ms)
    socket.on('timeout', () => {
      if (used.has(connection)) socket.destroy(new Silent(ms))
      else connection.end()
    })
  })
}

/** As the system reports a connection that it gave up. */
class Silent extends Error {
  readonly code = 'ETIMEDOUT'

  constructor(ms: number) {
    super(`The database sent nothing for ${ms} ms.`)
  }
}
