import { desc, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { type KeptTrace, keptTrace, traceFrom } from './kept-trace.ts'
import { traces } from './schema/cells.ts'

export interface ServerTrace {
  readonly serverId: string
  readonly attempt: number
  readonly trace: Trace
}

const INSERT = rowsInsert(traces, ['serverId', 'attempt', 'level', 'decidedAt', 'trace'], {
  fixed: { createdAt: sql`now(3)` },
  onDuplicate: sql`trace = values(trace)`,
})

/** Stores scheduling decisions; a decision that is stored already is replaced. */
export function queueTraces(tx: Tx, rows: readonly ServerTrace[]): void {
  INSERT.queue(
    tx,
    rows.map(({ serverId, attempt, trace }) => {
      return { serverId, attempt, level: trace.level, decidedAt: trace.at, trace: keptTrace(trace) }
    }),
  )
}

/** A server that is shelved and brought back again and again has one for each time. */
const SHOWN_MAX = 100

/** The newest decisions about a server, oldest attempt first; of one attempt, cells before hosts, then as they fell. */
export async function listTraces(
  db: Executor,
  serverId: string,
): Promise<readonly Omit<ServerTrace, 'serverId'>[]> {
  const rows = await db.orm
    .select({ attempt: traces.attempt, trace: traces.trace })
    .from(traces)
    .where(eq(traces.serverId, serverId))
    .orderBy(desc(traces.attempt), desc(traces.level), desc(traces.decidedAt))
    .limit(SHOWN_MAX)
  return rows
    .toReversed()
    .map(({ attempt, trace }) => ({ attempt, trace: traceFrom(trace as KeptTrace) }))
}
