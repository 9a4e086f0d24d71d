import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { resizedServers } from '../../db/due-acts.ts'
import type { ComputeDeps } from '../compute.ts'
import { settleResize } from '../quotas/resize-charge.ts'

/** Else it is told that there may be something to do. */
const EVERY_MS = 10_000
const BATCH = 100

/** A server whose resize was confirmed, reverted or has failed is charged for the size it has. */
export function settleResizes({ db, log }: Pick<ComputeDeps, 'db' | 'log'>): Reconciler {
  return {
    name: 'settle resizes',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const resized = await resizedServers(db, BATCH)
      await forEachRow(resized, { log, signal }, ({ serverId, ...size }) =>
        db.transaction((tx) => settleResize(tx, serverId, size)),
      )
      return { settled: resized.length }
    },
  }
}
