import { dueReplicas, takeReplica } from '../../db/server-replicas.ts'
import type { Compute } from '../compute.ts'
import { replicate, type SeenReplica, seeReplicas } from '../protections/replicate.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 2_000
const BATCH = 100
/** Most of the time is waited for cells. */
const PARALLEL = 10
/** Of the cell's id, as much as has room in the key of a row. */
const CELL_ID_MAX = 28

/** Cells keep the newest backups of the servers that are protected at them, and no others. */
export function replicateBackups(compute: Compute): RowReconciler<SeenReplica> {
  const { db } = compute
  return {
    name: 'replicate backups',
    everyMs: EVERY_MS,
    // What was seen here is what counts: a backup that is filled later makes the replica due again, so that it is not taken.
    due: async () => seeReplicas(compute, await dueReplicas(db, BATCH)),
    batch: BATCH,
    parallel: PARALLEL,
    keyOf: ({ serverId, cellId }) => `${serverId}${cellId.slice(0, CELL_ID_MAX)}`,
    work: async (replica) => {
      if (await takeReplica(db, replica)) await replicate(compute, replica)
    },
  }
}
