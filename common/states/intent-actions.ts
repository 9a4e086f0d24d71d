import type { Task } from './instance-states.ts'
import { SERVER_ACTIONS } from './server-actions.ts'

/** What a user can ask of a server whose cell cannot be reached: each action names a state, not a step. */
export const INTENT_ACTIONS = ['start', 'stop', 'delete'] as const
export type IntentAction = (typeof INTENT_ACTIONS)[number]

/** What a server shows while the intent waits. */
export function taskOfIntent(action: IntentAction): Task | null {
  return SERVER_ACTIONS[action].during
}
