import type { operations } from '#openapi/compute.gen.ts'
import { deleteTag } from '../../../app/servers/server-tags.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServerTag: Handler<operations['deleteServerTag']> = async (call) => {
  await deleteTag(call.app.db, call.context, call.params.server_id, call.params.tag)
  return {}
}
