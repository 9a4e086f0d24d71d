import { unlockServer as unlock } from '../../../../app/servers/lock-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const unlockServer: Handler = async (call) => {
  await unlock(call.app.compute, call.context, call.params['server_id']!)
  return {}
}
