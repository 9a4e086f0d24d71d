import type { operations } from '#openapi/compute.gen.ts'
import { deleteServer as remove } from '../../../app/servers/delete-server.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteServer: Handler<operations['deleteServer']> = async (call) => {
  await remove(call.app.compute, call.context, call.params.server_id)
  return {}
}
