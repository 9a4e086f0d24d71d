import type { operations } from '#openapi/compute.gen.ts'
import { showServerAction } from '../../../app/servers/server-actions.ts'
import type { Handler } from '../../../http/operation.ts'
import { instanceActionDetail } from '../../../views/instance-action.ts'
import { isSince } from '../../../views/since.ts'

export const showInstanceAction: Handler<operations['showInstanceAction']> = async (call) => {
  const { app, context, params } = call
  const scope = { serverId: params.server_id, includesDeleted: isSince(context, '2.21') }
  const shown = await showServerAction(app.db, context, scope, params.request_id)
  return { body: { instanceAction: instanceActionDetail(shown.action, shown.events, context) } }
}
