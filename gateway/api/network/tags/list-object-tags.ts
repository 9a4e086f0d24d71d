import type { operations } from '#openapi/network.gen.ts'
import { tagsOf } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v2.0/{collection}/{object_id}/tags */
export const listObjectTags: Handler<operations['listObjectTags']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id } = params
  const tags = await tagsOf(app.networks, context, { collection, id })
  return { body: { tags: [...tags] } }
}
