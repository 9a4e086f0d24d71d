import type { ListedIntent } from '../../app/intents/intents.ts'
import type { Requester } from '../../app/requester.ts'

/** An intent as the federation API shows it; where a server is, is an operator's business. */
export function intentView(intent: ListedIntent, { isAdmin }: Pick<Requester, 'isAdmin'>) {
  return {
    id: intent.id,
    server_id: intent.serverId,
    cell_id: isAdmin ? intent.cellId : null,
    project_id: intent.projectId,
    user_id: intent.userId,
    action: intent.action,
    wish: intent.action,
    request_id: intent.work.requestId,
    created_at: intent.createdAt.toISOString(),
  }
}
