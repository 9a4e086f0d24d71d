import type { WorkContext } from '#common/context.ts'
import { listCreateEvents } from '../../db/server-action-list.ts'
import { listTraces, type ServerTrace } from '../../db/traces.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { findVisibleServer } from '../servers/list/show-server.ts'
import { type ChainDeps, chainOf, type ServerChain } from './chain.ts'
import { hostProblem } from './host-problem.ts'
import { type Phase, phasesOf } from './phases.ts'

/** A scheduling decision about one server. */
export type Decision = Omit<ServerTrace, 'serverId'>

/** How a server came to where it is. */
export interface TracedServer {
  readonly server: ServerRecord
  readonly chain: ServerChain
  readonly decisions: readonly Decision[]
  readonly phases: readonly Phase[]
  /** What keeps its host from serving it; null: nothing does. */
  readonly hostProblem: string | null
}

/** A server, gone ones that are remembered included, and every decision about it. Throws `not-found`. */
export async function traceOfServer(
  deps: ChainDeps,
  requester: Requester & WorkContext,
  id: string,
): Promise<TracedServer> {
  const { db } = deps
  const server = await findVisibleServer(db, requester, id, true)
  const decisions = await listTraces(db, server.id)
  const steps = await listCreateEvents(db, server.id)
  const chain = await chainOf(deps, requester, server)
  const phases = phasesOf(server, decisions, steps)
  return { server, chain, decisions, phases, hostProblem: await hostProblem(deps, server) }
}
