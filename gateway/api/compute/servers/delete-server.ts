import type { operations } from '#openapi/compute.gen.ts'
import { softDeleteServer } from '../../../app/servers/soft-delete-server.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServer: Handler<operations['deleteServer']> = async (call) => {
  await softDeleteServer(call.app.compute, call.context, call.params.server_id)
  return {}
}
