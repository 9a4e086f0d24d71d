import type { Reconciler } from '#common/reconciler.ts'
import { findQuotaDrift, repairQuotaDrift } from '../../db/quota-drift.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 60_000

/** The quota ledger counts exactly the servers that are promised and not yet confirmed gone. */
export function quotaUsage({ db, log }: Pick<ComputeDeps, 'db' | 'log'>): Reconciler {
  return {
    name: 'quota usage',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const drifts = await findQuotaDrift(db)
      for (const drift of drifts) {
        signal.throwIfAborted()
        await repairQuotaDrift(db, drift)
        log.error(drift, 'quota usage repaired')
      }
      return { repaired: drifts.length }
    },
  }
}
