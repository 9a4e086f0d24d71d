import type { HostId } from '#common/ids.ts'
import type { MovedServer, MoveProgress, NextMoveAction } from './server-move-plan.ts'

/** The first of two passes in which a disk changes cells, as it is seen: an image of the disk while the server runs. */
export interface MoveCopy {
  /** The server can be saved in two passes, and a cell can build it so. */
  readonly isPossible: boolean
  /** The host that would build it, and can fetch the image ahead; null: none is known. */
  readonly hostId: HostId | null
  /** The image has its content. */
  readonly isWhole: boolean
  /** The other host has the image, or fetches none ahead. */
  readonly isFetched: boolean
  /** The step that is under way is among the server's actions. */
  readonly hasBegun: boolean
}

/** Longer than a gateway waits for the answer of a cell: the gateway that began the step has ended, or was refused. */
const BEGINS_WITHIN_MS = 30_000
/** A fetch that takes longer is not waited for: the server's host fetches what is missing. */
const FETCHED_WITHIN_MS = 3_600_000
const WAIT = { kind: 'wait' } as const
const SAVING = { kind: 'begin', step: 'saving' } as const

/**
 * What comes before a server in its former cell is stopped to be saved; undefined: nothing. `refusal`: why the step that is
 * under way has failed. A copy that fails leaves the server to be saved in one pass.
 */
export function planCopy(
  move: MoveProgress,
  { vmState }: MovedServer,
  copy: MoveCopy,
  refusal: string | null,
  now: Date,
): NextMoveAction | undefined {
  if (move.isCancelled) return undefined
  switch (move.step) {
    case 'waiting':
      if (vmState !== 'active' || !copy.isPossible) return undefined
      return { kind: 'begin', step: 'copying' }
    case 'copying':
      if (refusal !== null) return SAVING
      if (copy.hasBegun && copy.isWhole) return { kind: 'begin', step: 'fetching' }
      return isStepLate(move, now) ? SAVING : WAIT
    case 'fetching':
      return copy.isFetched || isStepLate(move, now, FETCHED_WITHIN_MS) ? SAVING : WAIT
    case 'saving':
    case 'offloading':
    case 'carrying':
    case 'changing':
    case 'returning':
    case 'forgetting':
    case 'stopping':
      return undefined
  }
}

const WITH_GUEST: readonly MovedServer['vmState'][] = ['active', 'stopped', 'paused', 'suspended']

/** Before a move ends whose server stays where it is: its host notes no more what it writes. */
export function planForgetting(
  move: MoveProgress,
  server: MovedServer | undefined,
  { hasBegun }: MoveCopy,
  end: NextMoveAction & { readonly kind: 'end' },
  now: Date,
): NextMoveAction {
  const isNoted = move.copyImageId !== null && server?.cellId === move.fromCellId
  if (!isNoted || server.isDeleting || !WITH_GUEST.includes(server.vmState)) return end
  const forgetting = { kind: 'begin', step: 'forgetting', failure: end.message } as const
  if (move.step !== 'forgetting') return forgetting
  if (hasBegun) return end
  return isStepLate(move, now) ? forgetting : WAIT
}

/** Whether the step has been under way for that long: one that shows no effect by now was not begun. */
export function isStepLate(
  { stepAt }: MoveProgress,
  now: Date,
  withinMs = BEGINS_WITHIN_MS,
): boolean {
  return now.getTime() - stepAt.getTime() > withinMs
}
