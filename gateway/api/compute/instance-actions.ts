import type { operations } from '#openapi/compute.gen.ts'
import { listServerActions, showServerAction } from '../../app/servers/acts/server-actions.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { instanceActionDetail, instanceActionView } from '../../views/instance-action.ts'
import { isSince } from '../../views/since.ts'
import { nextPageLinks } from './page.ts'

const listInstanceActions: Handler<operations['listInstanceActions']> = async (call) => {
  const { app, context, params, query } = call
  const limit = pageLimit(query.limit)
  const scope = { serverId: params.server_id, includesDeleted: isSince(context, '2.21') }
  const page = await listServerActions(app.db, context, scope, { ...query, limit })
  const last = page.at(-1)?.requestId
  const next = nextPageLinks(call, 'links', { size: page.length, limit, last })
  return { body: { instanceActions: page.map(instanceActionView), ...next } }
}

const showInstanceAction: Handler<operations['showInstanceAction']> = async (call) => {
  const { app, context, params } = call
  const scope = { serverId: params.server_id, includesDeleted: isSince(context, '2.21') }
  const shown = await showServerAction(app.db, context, scope, params.request_id)
  return { body: { instanceAction: instanceActionDetail(shown.action, shown.events, context) } }
}

export const instanceActionHandlers = { listInstanceActions, showInstanceAction }
