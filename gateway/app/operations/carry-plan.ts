import type { CellId, VolumeId } from '#common/ids.ts'
import type { OperationState } from '../../db/operations.ts'
import type { MovedServer, MoveProgress, NextMoveAction } from './server-move-plan.ts'

/** A volume of a server that changes cells. */
export interface CarriedVolume {
  readonly id: VolumeId
  readonly cellId: CellId | null
  /** The operation that moves it now; null: none does. */
  readonly move: { readonly operationId: string; readonly toCellId: CellId } | null
  /** The cell to which it is to go has still to delete what it had of it. */
  readonly isAwaited: boolean
}

/** The move of a volume that the present step has begun. */
export interface StepVolumeMove {
  readonly state: OperationState
  readonly toCellId: CellId
  readonly message: string | null
}

/** What the move of a server does next about its volumes. */
export type NextCarryAction =
  | NextMoveAction
  /** The volume goes the other way. */
  | { readonly kind: 'cancel'; readonly operationId: string }
  /** The server goes back, and its volumes with it. */
  | { readonly kind: 'turn-back'; readonly failure: string }

/** A gateway that took longer to begin has ended. */
const BEGINS_WITHIN_MS = 30_000
/** How often a volume is moved back that could not be. */
const RETRY_MS = 60_000
const WAIT = { kind: 'wait' } as const

/** The cell in which the volumes are to be while the server goes on, or back; null: none was chosen. */
export function carryTarget({
  fromCellId,
  toCellId,
  failure,
  isCancelled,
}: MoveProgress): CellId | null {
  return failure !== null || isCancelled ? fromCellId : toCellId
}

/** True for a step that builds the server, to which its volumes go before. */
export function needsVolumes(next: NextMoveAction): boolean {
  return next.kind === 'begin' && (next.step === 'changing' || next.step === 'returning')
}

/** The server and its volumes as they are seen. */
export interface SeenVolumes {
  readonly server: Pick<MovedServer, 'cellId' | 'isCellLost'>
  readonly volumes: readonly CarriedVolume[]
  /** The move of a volume that the present step has begun; undefined: none. */
  readonly last: StepVolumeMove | undefined
  /** Why the present step has failed; null: it is not known. */
  readonly refusal: string | null
}

/**
 * Decides what is done about the volumes before `next`, which the move decided for a server without volumes. They go
 * before the server is built, one after the other, and back before it returns.
 */
export function planCarry(
  next: NextMoveAction,
  move: MoveProgress,
  { server, volumes, last, refusal }: SeenVolumes,
  now: Date,
): NextCarryAction {
  if (!needsVolumes(next) || volumes.length === 0) return next
  if (server.isCellLost) return { kind: 'end', state: 'failed', message: CELL_LOST }
  const goesBack = move.failure !== null || move.isCancelled
  if (server.cellId === null && !goesBack) return turnBack(refusal ?? NOT_BUILT)
  const target = carryTarget(move)
  if (target === null) return turnBack(ATTACHED_SINCE)
  const running = volumes.find((volume) => volume.move !== null)?.move
  if (running != null && running.toCellId === target) return WAIT
  if (running != null) return { kind: 'cancel', operationId: running.operationId }
  const away = volumes.find(({ cellId }) => cellId !== target)
  if (away === undefined) return next
  const since = now.getTime() - move.stepAt.getTime()
  const isOwn = move.step === 'carrying'
  if (isOwn && last === undefined && since <= BEGINS_WITHIN_MS) return WAIT
  const failed = isOwn && last?.toCellId === target && last.state !== 'done' ? last : undefined
  if (failed !== undefined && !goesBack)
    return turnBack(
      `Volume ${away.id} did not move. ${failed.message ?? 'Its move was cancelled.'}`,
    )
  if (failed !== undefined && since <= RETRY_MS) return WAIT
  return away.isAwaited ? WAIT : { kind: 'begin', step: 'carrying' }
}

const CELL_LOST = 'The cell that it was in was lost.'
const NOT_BUILT = 'The other cell did not build it.'
const ATTACHED_SINCE = 'Volumes were attached to it after the move had begun. Repeat it.'

function turnBack(failure: string): NextCarryAction {
  return { kind: 'turn-back', failure }
}
