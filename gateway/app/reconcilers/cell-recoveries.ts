import { type CellRecovery, runningRecoveries } from '../../db/cell-recoveries.ts'
import type { Compute } from '../compute.ts'
import { advanceRecovery } from '../operations/recover-cell.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 100

/** The servers of a lost cell that an operator wants back run in other cells in the end, or say why not. */
export function cellRecoveries(compute: Compute): RowReconciler<CellRecovery> {
  return {
    name: 'cell recoveries',
    everyMs: EVERY_MS,
    due: (_signal, after) => runningRecoveries(compute.db, after?.id ?? '', BATCH),
    batch: BATCH,
    keyOf: ({ id }) => id,
    work: (recovery) => advanceRecovery(compute, recovery),
  }
}
