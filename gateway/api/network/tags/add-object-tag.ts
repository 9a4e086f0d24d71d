import type { operations } from '#openapi/network.gen.ts'
import { addTag } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** PUT /v2.0/{collection}/{object_id}/tags/{tag} */
export const addObjectTag: Handler<operations['addObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await addTag(app.networks, context, { collection, id }, tag)
  return {}
}
