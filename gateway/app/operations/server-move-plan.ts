import type { CellId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import { isStepLate, type MoveCopy, planCopy, planForgetting } from './move-copy-plan.ts'

/**
 * The steps of a move to another cell. `copying`: its disk is copied to an image while it runs; `fetching`: a host of
 * the other cell fetches that; `saving`: its disk, or what has changed of it since, becomes an image; `offloading`: its
 * host lets go of it; `carrying`: a volume of it moves to where it is to be built; `changing`: it is given to another
 * cell and built there from the image; `returning`: it is brought back in the cell that it was to leave; `forgetting`:
 * its host notes no changes any more; `stopping`: it runs where it is to be, and was stopped before.
 */
export type MoveStep =
  | 'waiting'
  | 'copying'
  | 'fetching'
  | 'saving'
  | 'offloading'
  | 'carrying'
  | 'changing'
  | 'returning'
  | 'forgetting'
  | 'stopping'

/** How far the move of a server has come. */
export interface MoveProgress {
  readonly fromCellId: CellId
  /** Null: any other cell that can take it. */
  readonly toCellId: CellId | null
  /** Its state before, and again in the end. */
  readonly formerState: 'active' | 'stopped'
  readonly step: MoveStep
  readonly stepAt: Date
  /** By which the server's actions have the step. */
  readonly stepRequestId: string
  readonly isCancelled: boolean
  /** Why it returns; null: it does not, or because it was cancelled. */
  readonly failure: string | null
  /** The image that its disk is copied to while it runs; null: it is saved in one pass. */
  readonly copyImageId: string | null
}

/** The server as it is seen. */
export interface MovedServer {
  readonly vmState: VmState
  readonly cellId: CellId | null
  readonly attempt: number
  /** It is in no cell since its own was declared lost. */
  readonly isCellLost: boolean
  /** A request, a saga or its cell is changing it. */
  readonly isBusy: boolean
  readonly isDeleting: boolean
}

/** What a move does next. */
export type NextMoveAction =
  | { readonly kind: 'wait' }
  | {
      readonly kind: 'begin'
      readonly step: Exclude<MoveStep, 'waiting'>
      /** Why the move ends afterwards; null or absent: it does not, or because it was cancelled. */
      readonly failure?: string | null
    }
  | {
      readonly kind: 'end'
      readonly state: 'done' | 'failed' | 'cancelled'
      /** Null where it is done. */
      readonly message: string | null
    }

/** How often cells are looked at again for a server that none could build. */
const RETRY_MS = 10_000
const WAIT = { kind: 'wait' } as const

/**
 * Decides what the move does next. `refusal`: why the step that is under way has failed, as the server's actions have
 * it; null: they do not say. A move whose server is to stay ends once its host has forgotten what it noted for it.
 */
export function planServerMove(
  move: MoveProgress,
  server: MovedServer | undefined,
  refusal: string | null,
  copy: MoveCopy,
  now: Date,
): NextMoveAction {
  const next = nextAction(move, server, refusal, copy, now)
  return next.kind === 'end' && next.state !== 'done'
    ? planForgetting(move, server, copy, next, now)
    : next
}

function nextAction(
  move: MoveProgress,
  server: MovedServer | undefined,
  refusal: string | null,
  copy: MoveCopy,
  now: Date,
): NextMoveAction {
  if (server === undefined || server.isDeleting) return failed('The server was deleted.')
  if (server.isBusy) return WAIT
  if (server.cellId === null) return whileInNoCell(move, now)
  if (server.cellId !== move.fromCellId) return inAnotherCell(move, server, now)
  return (
    (isIdle(server) ? planCopy(move, server, copy, refusal, now) : undefined) ??
    inFormerCell(move, server, refusal, copy, now)
  )
}

function isIdle({ vmState }: MovedServer): boolean {
  return vmState === 'active' || vmState === 'stopped'
}

/** No cell could build it from its image: one may have room later. */
function whileInNoCell(move: MoveProgress, now: Date): NextMoveAction {
  return again(move, 'changing', now, RETRY_MS)
}

function inAnotherCell(move: MoveProgress, { vmState }: MovedServer, now: Date): NextMoveAction {
  if (vmState === 'building') return WAIT
  if (vmState === 'error')
    return failed('It could not be built in the other cell; its fault says why.')
  if (vmState === 'active' && move.formerState === 'stopped') return again(move, 'stopping', now)
  return { kind: 'end', state: 'done', message: null }
}

function inFormerCell(
  move: MoveProgress,
  { vmState }: MovedServer,
  refusal: string | null,
  { hasBegun }: MoveCopy,
  now: Date,
): NextMoveAction {
  const { step, isCancelled, formerState, failure } = move
  const goesBack = isCancelled || failure !== null
  switch (vmState) {
    case 'building':
      return WAIT
    case 'shelved':
      return again(move, goesBack ? 'returning' : 'offloading', now)
    case 'shelved_offloaded':
      return again(move, goesBack ? 'returning' : 'changing', now)
    case 'active':
    case 'stopped':
      if (step === 'waiting') return isCancelled ? cancelled() : { kind: 'begin', step: 'saving' }
      if (step === 'saving' && refusal === null) {
        if (!isStepLate(move, now)) return WAIT
        // The gateway that noted it ended before it asked for it.
        if (!hasBegun && !isCancelled) return { kind: 'begin', step: 'saving' }
      }
      if (vmState === 'active' && formerState === 'stopped' && step !== 'saving')
        return again(move, 'stopping', now)
      if (isCancelled) return cancelled()
      return failed(failure ?? refusal ?? NOT_TAKEN)
    case 'deleted':
    case 'error':
    case 'paused':
    case 'rescued':
    case 'resized':
    case 'soft-delete':
    case 'suspended':
      return failed(failure ?? refusal ?? `A server that is ${vmState} is not moved.`)
  }
}

const NOT_TAKEN = 'It stays in its cell: no other built it, or another request kept it there.'

/** Begins the step, unless it is under way and may still be about to have its effect. */
function again(
  move: MoveProgress,
  step: Exclude<MoveStep, 'waiting'>,
  now: Date,
  withinMs?: number,
): NextMoveAction {
  return move.step === step && !isStepLate(move, now, withinMs) ? WAIT : { kind: 'begin', step }
}

function failed(message: string): NextMoveAction {
  return { kind: 'end', state: 'failed', message }
}

function cancelled(): NextMoveAction {
  return { kind: 'end', state: 'cancelled', message: null }
}
