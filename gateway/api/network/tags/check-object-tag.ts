import type { operations } from '#openapi/network.gen.ts'
import { checkTag } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v2.0/{collection}/{object_id}/tags/{tag} */
export const checkObjectTag: Handler<operations['checkObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await checkTag(app.networks, context, { collection, id }, tag)
  return {}
}
