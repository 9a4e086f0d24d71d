import { dueServerMoves, type ServerMoveRecord } from '../../db/server-moves.ts'
import type { Compute } from '../compute.ts'
import { advanceServerMove } from '../operations/advance-server-move.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 500
/** A step waits for its cell and for commits, which those of several moves share. */
const PARALLEL = 10

/** A server that is moved to another cell is there in the end, or stays where it was and its operation says why. */
export function serverMoves(compute: Compute): RowReconciler<ServerMoveRecord> {
  return {
    name: 'server moves',
    everyMs: EVERY_MS,
    due: (_signal, after) => dueServerMoves(compute.db, after?.id ?? '', BATCH),
    batch: BATCH,
    parallel: PARALLEL,
    keyOf: ({ id }) => id,
    work: (move) => advanceServerMove(compute, move),
  }
}
