import type { ListedIntent } from '../../app/intents/intent.ts'

/** An intent as the federation API shows it. */
export function intentView(intent: ListedIntent) {
  return {
    id: intent.id,
    server_id: intent.serverId,
    cell_id: intent.cellId,
    project_id: intent.projectId,
    user_id: intent.userId,
    wish: intent.wish,
    request_id: intent.work.requestId,
    created_at: intent.createdAt.toISOString(),
  }
}
