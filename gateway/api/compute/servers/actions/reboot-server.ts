import type { operations } from '#openapi/compute.gen.ts'
import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const rebootServer: Handler<operations['rebootServer']> = async (call) => {
  const { type } = call.body.reboot
  const name = type.toLowerCase() === 'hard' ? 'reboot-hard' : 'reboot-soft'
  await actOnServer(call.app.compute, call.context, call.params.server_id, { name })
  return {}
}
