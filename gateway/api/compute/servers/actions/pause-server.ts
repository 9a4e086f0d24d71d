import { powerServer } from '../../../../app/servers/power-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const pauseServer: Handler = async (call) => {
  await powerServer(call.app.compute, call.context, call.params['server_id']!, 'pause')
  return {}
}
