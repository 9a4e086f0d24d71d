import { refuseInState } from '#common/states/refuse-in-state.ts'
import { SERVER_ACTIONS, type ServerActionName } from '#common/states/server-actions.ts'
import type { Requester } from '../../requester.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { refuseLocked } from './refuse-locked.ts'

/**
 * Throws `conflict` for a lock that holds the action up, and in a state that forbids it; the lock comes first, as in
 * Nova.
 */
export function refuseAction(
  server: ServerRecord,
  requester: Requester,
  action: ServerActionName,
): void {
  if (SERVER_ACTIONS[action].ignoresLock !== true) refuseLocked(server, requester)
  refuseInState(server, action)
}
