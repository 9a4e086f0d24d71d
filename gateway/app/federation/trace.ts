import type { Executor } from '#common/db/database.ts'
import { listTraces, type ServerTrace } from '../../db/traces.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from '../servers/server-record.ts'
import { findVisibleServer } from '../servers/show-server.ts'

/** A scheduling decision about one server. */
export type Decision = Omit<ServerTrace, 'serverId'>

/** A server, gone ones that are remembered included, and every decision about it. Throws `not-found`. */
export async function traceOfServer(
  db: Executor,
  requester: Requester,
  id: string,
): Promise<{ readonly server: ServerRecord; readonly decisions: readonly Decision[] }> {
  const server = await findVisibleServer(db, requester, id, true)
  return { server, decisions: await listTraces(db, server.id) }
}
