import type { operations } from '#openapi/compute.gen.ts'
import { showServerGroup as show } from '../../../app/server-groups/show-server-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverGroupView } from '../../../views/server-group.ts'

export const showServerGroup: Handler<operations['showServerGroup']> = async (call) => {
  const { app, context, params } = call
  const group = await show(app.db, context, params.server_group_id)
  return { body: { server_group: serverGroupView(group) } }
}
