import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import {
  assertMayNameCell,
  cancelIntent as cancel,
  intentPage,
  type ListedIntent,
} from '../../app/intents/intents.ts'
import type { Requester } from '../../app/requester.ts'
import type { Handler } from '../../http/operation.ts'

/** DELETE /v1/intents/{intent} */
export const cancelIntent: Handler<operations['cancelIntent']> = async (call) => {
  const { app, context, params } = call
  await cancel(app.db, context, params.intent)
  return {}
}

const LIMIT = 1_000

/** GET /v1/intents */
export const listIntents: Handler<operations['listIntents']> = async (call) => {
  const { app, context, query, links, raw } = call
  const { limit = LIMIT, cursor, cell, server: serverId } = query
  if (cell !== undefined) assertMayNameCell(context)
  const { cells } = app.compute
  const cellId = cell === undefined ? undefined : (await findOperatedCell(app.db, cells, cell)).id
  const { intents, next } = await intentPage(app.db, context, { cellId, serverId, limit, cursor })
  const body = { intents: intents.map((intent) => intentView(intent, context)), next }
  if (next === null) return { body }
  const search = new URLSearchParams(raw.search)
  search.set('cursor', next)
  const href = links.to(`${raw.path}?${search.toString()}`)
  return { body, headers: { Link: `<${href}>; rel="next"` } }
}

/** An intent as the federation API shows it; where a server is, is an operator's business. */
function intentView(intent: ListedIntent, { isAdmin }: Pick<Requester, 'isAdmin'>) {
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
