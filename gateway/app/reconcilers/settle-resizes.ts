import { type ResizedServer, resizedServers } from '../../db/due-acts.ts'
import type { ComputeDeps } from '../compute.ts'
import { settleResize } from '../quotas/resize-charge.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 100

/** A server whose resize was confirmed, reverted or has failed is charged for the size it has. */
export function settleResizes({ db }: Pick<ComputeDeps, 'db'>): RowReconciler<ResizedServer> {
  return {
    name: 'settle resizes',
    everyMs: EVERY_MS,
    due: () => resizedServers(db, BATCH),
    keyOf: ({ serverId }) => serverId,
    work: ({ serverId, ...size }) => db.transaction((tx) => settleResize(tx, serverId, size)),
  }
}
