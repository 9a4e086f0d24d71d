import { Failure, isFailure } from '#common/errors.ts'
import type { CellId, VolumeId } from '#common/ids.ts'
import type { StepCall } from '#common/saga/saga.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { listCellMappings } from '../../db/cell-mappings.ts'
import { noteProgress } from '../../db/operations.ts'
import { isMoveCancelled } from '../../db/volume-moves.ts'
import { findVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'

/** A step of a move, whose step `mark` has begun the operation. */
export type MovingCall = StepCall<ComputeDeps, { readonly volumeId: VolumeId }>
type Begun = { readonly operationId: string }

/** How a part of the move has ended. */
export type MoveOutcome<Done extends object> =
  | ({ readonly outcome: 'done' } & Done)
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'cancelled' }

interface Waited<Done extends object> {
  /** What operators read meanwhile. */
  readonly message: string
  /** Asks the cell, which answers a repeat with its present state; undefined while it is at work. */
  readonly ask: (cell: CellRef) => Promise<MoveOutcome<Done> | undefined>
  /** Has the work end sooner, which is waited for; absent: a cancelled move waits for nothing. */
  readonly onCancel?: () => Promise<void>
  readonly signal: AbortSignal
}

export const REFUSALS = ['conflict', 'invalid', 'no-capacity', 'not-found', 'unsupported'] as const
/** Between two questions to a cell that is at work. */
export const PAUSE_MS = 500
/** The saga then rests and asks again later, so that no process is bound to one slow cell. */
export const ASKED_MAX = 60

/**
 * Asks the cell until it has done its part or refuses it, the move is cancelled, or the volume is not the move's any more.
 * Throws `unavailable` while the cell does not answer or is still at work.
 */
export async function untilMoved<Done extends object>(
  call: MovingCall,
  cellId: CellId,
  { message, ask, onCancel, signal }: Waited<Done>,
): Promise<MoveOutcome<Done>> {
  const { deps, params, sagaId } = call
  const { operationId } = call.output<Begun>('mark')!
  await noteProgress(deps.db, operationId, { message })
  for (let asked = 0; asked < ASKED_MAX; asked += 1) {
    const volume = await findVolume(deps.db, params.volumeId)
    if (volume?.sagaId !== sagaId || volume.isDeleting)
      return { outcome: 'failed', reason: 'The volume was deleted, or its cell was lost.' }
    const isCancelled = await isMoveCancelled(deps.db, operationId)
    if (isCancelled && onCancel === undefined) return { outcome: 'cancelled' }
    if (isCancelled) await onCancel?.()
    const outcome = await answerOf(call, operationId, async () =>
      ask(await reachableCell(call, cellId)),
    )
    if (outcome !== undefined) return isCancelled ? { outcome: 'cancelled' } : outcome
    await deps.clock.sleep(PAUSE_MS, signal)
  }
  throw new Failure('unavailable', `The cell is still at work on volume ${params.volumeId}.`)
}

/** What the cell answers, or why it refuses; operators read why it is silent. */
async function answerOf<Done extends object>(
  { deps }: MovingCall,
  operationId: string,
  ask: () => Promise<MoveOutcome<Done> | undefined>,
): Promise<MoveOutcome<Done> | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (isFailure(error, ...REFUSALS)) return { outcome: 'failed', reason: error.message }
    if (isFailure(error, 'unavailable'))
      await noteProgress(deps.db, operationId, { message: error.message })
    throw error
  }
}

/** Throws `not-found` for a cell that will not come back, and `unavailable` without waiting for one that sends no heartbeats. */
export async function reachableCell({ deps }: MovingCall, id: CellId): Promise<CellRef> {
  const cell = deps.cells.cell(id)
  if (cell === undefined) {
    const isKnown = (await listCellMappings(deps.db)).some((each) => each.id === id)
    if (isKnown) throw new Failure('unavailable', `Cell ${id} has not been heard yet.`)
    throw new Failure('not-found', `Cell ${id} has left.`)
  }
  if (cell.isLost) throw new Failure('not-found', `Cell ${cell.name} was declared lost.`)
  if (!cell.isReachable) throw new Failure('unavailable', `Cell ${cell.name} sends no heartbeats.`)
  return cell
}
