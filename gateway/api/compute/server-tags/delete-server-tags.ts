import type { operations } from '#openapi/compute.gen.ts'
import { deleteTags } from '../../../app/servers/server-tags.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServerTags: Handler<operations['deleteServerTags']> = async (call) => {
  await deleteTags(call.app.db, call.context, call.params.server_id)
  return {}
}
