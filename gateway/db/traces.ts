import { asc, eq, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { traces } from './schema/cells.ts'

export interface ServerTrace {
  readonly serverId: string
  readonly attempt: number
  readonly trace: Trace
}

const INSERT = rowsInsert(traces, ['serverId', 'attempt', 'level', 'decidedAt', 'trace'], {
  fixed: { createdAt: sql`now(3)` },
  onDuplicate: { trace: sql`values(trace)` },
})

/** Keeps scheduling decisions; one that is known already is replaced by what is told of it now. */
export function recordTraces(tx: Tx, rows: readonly ServerTrace[]): void {
  INSERT.queue(
    tx,
    rows.map(({ serverId, attempt, trace }) => {
      return { serverId, attempt, level: trace.level, decidedAt: trace.at, trace }
    }),
  )
}

/** The decisions about a server, oldest attempt first; of one attempt, cells before hosts, then as they fell. */
export async function listTraces(
  db: Executor,
  serverId: string,
): Promise<readonly Omit<ServerTrace, 'serverId'>[]> {
  const rows = await db.orm
    .select({ attempt: traces.attempt, trace: traces.trace })
    .from(traces)
    .where(eq(traces.serverId, serverId))
    .orderBy(asc(traces.attempt), asc(traces.level), asc(traces.decidedAt))
  return rows.map(({ attempt, trace }) => ({ attempt, trace: trace as Trace }))
}
