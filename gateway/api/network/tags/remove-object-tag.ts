import type { operations } from '#openapi/network.gen.ts'
import { removeTag } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2.0/{collection}/{object_id}/tags/{tag} */
export const removeObjectTag: Handler<operations['removeObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await removeTag(app.networks, context, { collection, id }, tag)
  return {}
}
