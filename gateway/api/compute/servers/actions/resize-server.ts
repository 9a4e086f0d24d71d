import type { operations } from '#openapi/compute.gen.ts'
import { resizeServer as resize } from '../../../../app/servers/resize-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const resizeServer: Handler<operations['resizeServer']> = async (call) => {
  const { app, context, params, body } = call
  await resize(app.compute, context, params.server_id, String(body.resize.flavorRef))
  return {}
}
