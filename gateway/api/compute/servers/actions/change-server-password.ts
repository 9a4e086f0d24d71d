import type { operations } from '#openapi/compute.gen.ts'
import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const changeServerPassword: Handler<operations['changeServerPassword']> = async (call) => {
  const { app, context, params, body } = call
  const password = body.changePassword.adminPass
  await actOnServer(app.compute, context, params.server_id, { name: 'change-password', password })
  return {}
}
