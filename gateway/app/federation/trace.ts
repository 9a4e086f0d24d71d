import type { Executor } from '#common/db/database.ts'
import { listCreateEvents } from '../../db/server-action-list.ts'
import { listTraces, type ServerTrace } from '../../db/traces.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from '../servers/server-record.ts'
import { findVisibleServer } from '../servers/show-server.ts'
import { type Phase, phasesOf } from './phases.ts'

/** A scheduling decision about one server. */
export type Decision = Omit<ServerTrace, 'serverId'>

/** How a server came to where it is. */
export interface TracedServer {
  readonly server: ServerRecord
  readonly decisions: readonly Decision[]
  readonly phases: readonly Phase[]
}

/** A server, gone ones that are remembered included, and every decision about it. Throws `not-found`. */
export async function traceOfServer(
  db: Executor,
  requester: Requester,
  id: string,
): Promise<TracedServer> {
  const server = await findVisibleServer(db, requester, id, true)
  const decisions = await listTraces(db, server.id)
  const steps = await listCreateEvents(db, server.id)
  return { server, decisions, phases: phasesOf(server, decisions, steps) }
}
