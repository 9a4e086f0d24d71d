import type { operations } from '#openapi/network.gen.ts'
import { replaceTags } from '../../../app/networks/tags.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2.0/{collection}/{object_id}/tags */
export const deleteObjectTags: Handler<operations['deleteObjectTags']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id } = params
  await replaceTags(app.networks, context, { collection, id }, [])
  return {}
}
