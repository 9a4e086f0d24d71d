import { coldMove } from './cold-move.ts'
import { confirmMove, revertMove } from './end-of-move.ts'
import { evacuation } from './evacuation.ts'
import { liveMove } from './live-move.ts'
import type { MoveName, MovePlan } from './move.ts'

export const MOVE_PLANS: Readonly<Record<MoveName, MovePlan>> = {
  migrate: coldMove('migration'),
  resize: coldMove('resize'),
  'live-migrate': liveMove,
  evacuate: evacuation,
  'confirm-resize': confirmMove,
  'revert-resize': revertMove,
}

/** The most that any of them has. */
export const MOVE_STEPS_MAX = Math.max(
  ...Object.values(MOVE_PLANS).map(({ steps }) => steps.length),
)

/** The steps of all moves are the same, so from here on no plan may have a step that can be undone. */
export const FIRST_FORWARD_STEP = Math.min(
  ...Object.values(MOVE_PLANS)
    .map(({ steps }) => steps.findIndex((step) => step !== 'copy' && step.isForwardOnly === true))
    .filter((index) => index !== -1),
)
