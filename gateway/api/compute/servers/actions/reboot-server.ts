import type { operations } from '#openapi/compute.gen.ts'
import { powerServer } from '../../../../app/servers/power-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const rebootServer: Handler<operations['rebootServer']> = async (call) => {
  const { type } = call.body.reboot
  const action = type.toLowerCase() === 'hard' ? 'reboot-hard' : 'reboot-soft'
  await powerServer(call.app.compute, call.context, call.params.server_id, action)
  return {}
}
