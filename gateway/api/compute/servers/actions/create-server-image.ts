import type { operations } from '#openapi/compute.gen.ts'
import { saveServer } from '../../../../app/servers/save-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { savedImage } from './saved-image.ts'

export const createServerImage: Handler<operations['createServerImage']> = async (call) => {
  const { app, context, params, body } = call
  const { name, metadata = {} } = body.createImage
  const id = await saveServer(app.compute, context, params.server_id, { name, metadata })
  return savedImage(call, id)
}
