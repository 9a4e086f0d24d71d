import type { Reconciler } from '#common/reconciler.ts'
import { repairQuotaDrift } from '../../db/quota-drift.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 60_000

/** The ledgers of quota usage count what there is: servers that are accepted and not yet confirmed gone, ports, … */
export function quotaUsage({ db, log }: Pick<ComputeDeps, 'db' | 'log'>): Reconciler {
  return {
    name: 'quota usage',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const drifts = await repairQuotaDrift(db, signal)
      for (const drift of drifts) log.error(drift, 'quota usage repaired')
      return { repaired: drifts.length }
    },
  }
}
