import type { Task } from './instance-states.ts'
import { SERVER_ACTIONS } from './server-actions.ts'

/** What can be asked of a server whose cell cannot be reached: each says what shall be true, not what to do. */
export const WISHES = ['start', 'stop', 'delete'] as const
export type Wish = (typeof WISHES)[number]

/** What a server shows while the wish waits. */
export function taskOfWish(wish: Wish): Task | null {
  return SERVER_ACTIONS[wish].during
}
