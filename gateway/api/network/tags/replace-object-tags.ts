import type { operations } from '#openapi/network.gen.ts'
import { replaceTags } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** PUT /v2.0/{collection}/{object_id}/tags */
export const replaceObjectTags: Handler<operations['replaceObjectTags']> = async (call) => {
  const { app, context, params, body } = call
  const { collection, object_id: id } = params
  const tags = await replaceTags(app.networks, context, { collection, id }, body.tags)
  return { body: { tags: [...tags] } }
}
