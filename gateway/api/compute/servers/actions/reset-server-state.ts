import type { operations } from '#openapi/compute.gen.ts'
import { resetServerState as reset } from '../../../../app/servers/reset-server-state.ts'
import type { Handler } from '../../../../http/operation.ts'

export const resetServerState: Handler<operations['resetServerState']> = async (call) => {
  const { app, context, params, body } = call
  const { state } = body['os-resetState']
  await reset(app.compute, context, params.server_id, state)
  return {}
}
