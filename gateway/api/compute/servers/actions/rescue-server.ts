import type { operations } from '#openapi/compute.gen.ts'
import { rescueServer as rescue } from '../../../../app/servers/rescue-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const rescueServer: Handler<operations['rescueServer']> = async (call) => {
  const { adminPass: password, rescue_image_ref: imageRef } = call.body.rescue ?? {}
  const { app, context, params } = call
  const adminPass = await rescue(app, context, params.server_id, { password, imageRef })
  return { body: { adminPass } }
}
