import { purgeOnce } from '#cells/reconcilers/purge.ts'
import { retentionFromEnv as cellRetention } from '#cells/retention.ts'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Env } from '#common/env.ts'
import { purgeIdentity } from '#gateway/app/identity/token-purge.ts'
import { purge } from '#gateway/app/purge.ts'
import { retentionFromEnv as gatewayRetention } from '#gateway/retention.ts'

/** Rows removed, by table. */
export type Purged = Readonly<Record<string, number>>

const BATCHES_MAX = 20
/** With twenty batches of five hundred rows each: ten million rows of a table. */
const ROUNDS_MAX = 1_000

/** Afterwards the global database holds nothing past the retention that GATEWAY_RETENTION_* of `env` set. */
export function purgeGateway(db: Database, env: Env, signal: AbortSignal): Promise<Purged> {
  const retention = gatewayRetention(env)
  return untilNothing(signal, async () => ({
    ...(await purge({ db, clock: systemClock }, retention, BATCHES_MAX, signal)),
    ...(await purgeIdentity(db, systemClock, signal)),
  }))
}

/** The same for a cell's database and CELL_RETENTION_*. */
export function purgeCell(db: Database, env: Env, signal: AbortSignal): Promise<Purged> {
  const retention = cellRetention(env)
  return untilNothing(signal, () => purgeOnce({ db, clock: systemClock }, retention))
}

async function untilNothing(signal: AbortSignal, round: () => Promise<Purged>): Promise<Purged> {
  const total: Record<string, number> = {}
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds += 1) {
    signal.throwIfAborted()
    const gone = Object.entries(await round())
    for (const [table, rows] of gone) total[table] = (total[table] ?? 0) + rows
    if (gone.every(([, rows]) => rows === 0)) break
  }
  return total
}
