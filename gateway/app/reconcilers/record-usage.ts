import type { Reconciler } from '#common/reconciler.ts'
import { recordResourceRuns } from '../../db/resource-runs.ts'
import type { ComputeDeps } from '../compute.ts'

const EVERY_MS = 60_000

/** What volumes, images and floating IPs there are is recorded every minute: usage counts what was there. */
export function recordUsage({ db }: Pick<ComputeDeps, 'db'>): Reconciler {
  return {
    name: 'record usage',
    everyMs: EVERY_MS,
    round: async () => {
      await recordResourceRuns(db)
      return {}
    },
  }
}
