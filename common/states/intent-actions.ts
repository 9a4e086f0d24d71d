import type { Task } from './instance-states.ts'
import { SERVER_ACTIONS } from './server-actions.ts'

/** The actions that a user can request for a server in an unreachable cell: each names a state, not a step. */
export const INTENT_ACTIONS = ['start', 'stop', 'delete'] as const
export type IntentAction = (typeof INTENT_ACTIONS)[number]

/** The task that a server shows while the intent waits. */
export function taskOfIntent(action: IntentAction): Task | null {
  return SERVER_ACTIONS[action].during
}
