import { shelveServer as shelve } from '../../../../app/servers/save-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const shelveServer: Handler = async (call) => {
  await shelve(call.app.compute, call.context, call.params['server_id']!)
  return {}
}
