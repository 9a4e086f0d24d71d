import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { inBatches } from '#common/in-batches.ts'
import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { purgeRevocations } from '../../db/identity/revocations.ts'
import { purgeTokens } from '../../db/identity/tokens.ts'
import { purgeTrusts } from '../../db/identity/trusts.ts'

const EVERY_MS = 60_000
const BATCH_ROWS = 1_000
/** Per round; a backlog beyond it waits for the next one. */
const BATCHES_MAX = 50
/** Gateways read revocations several times a second; one that is this far behind forgets all its tokens. */
const REVOCATIONS_KEPT_MS = 3_600_000
/** Users may look why a trust no longer works. */
const TRUSTS_KEPT_MS = 24 * 3_600_000

/** Any number of gateways may do so at once. */
export function tokenPurge(db: Executor, clock: Clock): Reconciler {
  return {
    name: 'token-purge',
    everyMs: EVERY_MS,
    round: (signal) => purgeIdentity(db, clock, signal),
  }
}

/** Removes expired tokens and trusts, and old revocations, in small transactions. Returns how many rows went, by table. */
export async function purgeIdentity(
  db: Executor,
  clock: Clock,
  signal: AbortSignal,
): Promise<ReconcilerReport> {
  const now = clock.now()
  const before = new Date(now - REVOCATIONS_KEPT_MS)
  const ended = new Date(now - TRUSTS_KEPT_MS)
  const limits = { rows: BATCH_ROWS, batchesMax: BATCHES_MAX, signal }
  return {
    tokens: await inBatches(limits, (rows) => purgeTokens(db, new Date(now), rows)),
    trusts: await inBatches(limits, (rows) => purgeTrusts(db, ended, rows)),
    revocations: await inBatches(limits, (rows) => purgeRevocations(db, before, rows)),
  }
}
