import type { operations } from '#openapi/compute.gen.ts'
import { resizeServer as resize } from '../../../../app/servers/resize-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const resizeServer: Handler<operations['resizeServer']> = async (call) => {
  const { app, context, params, body } = call
  const asked = body.resize
  await resize(app.compute, context, params.server_id, {
    flavorRef: String(asked.flavorRef),
    // Unlike a rebuild, a resize that does not say leaves the disk alone from then on (nova/compute/api.py `resize`).
    diskConfig: asked['OS-DCF:diskConfig'] ?? 'MANUAL',
  })
  return {}
}
