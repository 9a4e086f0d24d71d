import type { Tx } from '#common/db/database.ts'
import { recordActions } from '../../db/server-actions.ts'
import type { Intent } from './intent.ts'

/** Notes why nothing was done of what was asked, where the server's actions are listed. */
export function endIntent(tx: Tx, intent: Intent, message: string): void {
  const { serverId, wish: action, projectId, userId, work } = intent
  recordActions(tx, [{ serverId, requestId: work.requestId, action, projectId, userId, message }])
}
