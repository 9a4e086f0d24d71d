import type { operations } from '#openapi/compute.gen.ts'
import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const resetServerState: Handler<operations['resetServerState']> = async (call) => {
  const { app, context, params, body } = call
  const { state } = body['os-resetState']
  await actOnServer(app.compute, context, params.server_id, { name: 'reset-state', state })
  return {}
}
