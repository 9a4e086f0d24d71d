import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import { contentLeft, type LeftContent, recordContentGone } from '../../db/volume-moves.ts'
import type { Compute } from '../compute.ts'
import { reachableCells } from '../hosts/host-state.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 5_000
const BATCH_MAX = 100

/**
 * What a move has left of a volume in the cell that it left, or in the one that did not get it, is deleted there sooner or
 * later. Unreachable cells are skipped until they are back.
 */
export function finishVolumeMoves(compute: Compute): RowReconciler<LeftContent> {
  const { db, cells, askCell } = compute
  return {
    name: 'finish volume moves',
    everyMs: EVERY_MS,
    // A cell that has left has no content of this deployment.
    due: (_signal, after) =>
      contentLeft(db, reachableCells(compute), after?.operationId ?? '', BATCH_MAX),
    batch: BATCH_MAX,
    keyOf: ({ operationId }) => operationId,
    work: async (left) => {
      const cell = cells.cell(left.cellId)
      if (cell === undefined) return
      const { volumeId, attempt } = left
      const operation = { id: newId<string>(), volumeId, attempt }
      const { outcome } = await askCell(
        cell,
        'volume.delete',
        { operation },
        { work: workContext({}) },
      )
      // One that has only begun is asked again, until it says that nothing is left.
      if (outcome === 'deleted') await recordContentGone(db, left)
    },
  }
}
