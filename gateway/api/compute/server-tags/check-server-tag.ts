import type { operations } from '#openapi/compute.gen.ts'
import { checkTag } from '../../../app/servers/server-tags.ts'
import type { Handler } from '../../../http/operation.ts'

export const checkServerTag: Handler<operations['checkServerTag']> = async (call) => {
  await checkTag(call.app.db, call.context, call.params.server_id, call.params.tag)
  return {}
}
