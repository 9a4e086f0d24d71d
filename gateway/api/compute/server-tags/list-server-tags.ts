import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

export const listServerTags: Handler<operations['listServerTags']> = async (call) => {
  const { tags } = await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { tags } }
}
