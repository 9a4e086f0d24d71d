import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { purgeRevocations } from '../../db/identity/revocations.ts'
import { purgeTokens } from '../../db/identity/tokens.ts'

const EVERY_MS = 60_000
const BATCH_ROWS = 1_000
/** Per round; a backlog beyond it waits for the next one. */
const BATCHES_MAX = 50
/** Gateways read revocations several times a second; one that is this far behind forgets all its tokens. */
const REVOCATIONS_KEPT_MS = 3_600_000

/** Removes expired tokens and old revocations, in small transactions. Any number of gateways may do so at once. */
export function tokenPurge(db: Executor, clock: Clock): Reconciler {
  return {
    name: 'token-purge',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const now = clock.now()
      const before = new Date(now - REVOCATIONS_KEPT_MS)
      return {
        tokens: await inBatches(signal, () => purgeTokens(db, new Date(now), BATCH_ROWS)),
        revocations: await inBatches(signal, () => purgeRevocations(db, before, BATCH_ROWS)),
      }
    },
  }
}

async function inBatches(signal: AbortSignal, purge: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
    const removed = await purge()
    total += removed
    if (removed < BATCH_ROWS) break
  }
  return total
}
