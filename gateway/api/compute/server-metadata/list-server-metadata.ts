import type { operations } from '#openapi/compute.gen.ts'
import { showServer } from '../../../app/servers/show-server.ts'
import type { Handler } from '../../../http/operation.ts'

export const listServerMetadata: Handler<operations['listServerMetadata']> = async (call) => {
  const { metadata } = await showServer(call.app.db, call.context, call.params.server_id)
  return { body: { metadata } }
}
