import type { operations } from '#openapi/compute.gen.ts'
import { deleteServerGroup as remove } from '../../../app/server-groups/delete-server-group.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServerGroup: Handler<operations['deleteServerGroup']> = async (call) => {
  const { app, context, params } = call
  await remove(app.db, context, params.server_group_id)
  return {}
}
