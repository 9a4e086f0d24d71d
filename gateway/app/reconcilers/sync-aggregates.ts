import type { Reconciler } from '#common/reconciler.ts'
import { type AggregateDeps, pushAggregates } from '../aggregates/push-aggregates.ts'

const EVERY_MS = 10_000

/** Every cell knows which aggregates its hosts are in, also one that was away when they changed. */
export function syncAggregates(deps: AggregateDeps): Reconciler {
  return {
    name: 'sync aggregates',
    everyMs: EVERY_MS,
    round: async () => ({ pushed: await pushAggregates(deps) }),
  }
}
