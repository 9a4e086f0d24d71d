import type { Socket } from 'node:net'
import type { PoolConnection } from 'mysql2'

/**
 * Sends a `SET SESSION`, before what is sent on the connection next. If the database refuses it, that fails as on a
 * connection that has ended before, and another connection is opened: on this one it would run with other settings.
 */
export function setSession(connection: PoolConnection, statement: string): void {
  connection.query(statement, (error) => {
    if (error !== null) socketOf(connection).destroy(new SettingsRefused(error))
  })
}

/** Not in mysql2's types, though every connection has it. */
export function socketOf(connection: PoolConnection): Socket {
  return (connection as PoolConnection & { readonly stream: Socket }).stream
}

class SettingsRefused extends Error {
  /** As the driver reports work that was not sent. */
  readonly code = 'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR'

  constructor(cause: Error) {
    super(`The database refused the settings of a connection: ${cause.message}`, { cause })
  }
}
