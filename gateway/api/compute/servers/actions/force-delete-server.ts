import { deleteServer } from '../../../../app/servers/delete-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const forceDeleteServer: Handler = async (call) => {
  await deleteServer(call.app.compute, call.context, call.params['server_id']!)
  return {}
}
