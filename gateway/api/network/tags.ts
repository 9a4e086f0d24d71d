import type { operations } from '#openapi/network.gen.ts'
import { addTag, checkTag, removeTag, replaceTags, tagsOf } from '../../app/networks/tags.ts'
import type { Handler } from '../../http/operation.ts'

/** PUT /v2.0/{collection}/{object_id}/tags/{tag} */
export const addObjectTag: Handler<operations['addObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await addTag(app.networks, context, { collection, id }, tag)
  return {}
}

/** GET /v2.0/{collection}/{object_id}/tags/{tag} */
export const checkObjectTag: Handler<operations['checkObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await checkTag(app.networks, context, { collection, id }, tag)
  return {}
}

/** DELETE /v2.0/{collection}/{object_id}/tags */
export const deleteObjectTags: Handler<operations['deleteObjectTags']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id } = params
  await replaceTags(app.networks, context, { collection, id }, [])
  return {}
}

/** GET /v2.0/{collection}/{object_id}/tags */
export const listObjectTags: Handler<operations['listObjectTags']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id } = params
  const tags = await tagsOf(app.networks, context, { collection, id })
  return { body: { tags: [...tags] } }
}

/** DELETE /v2.0/{collection}/{object_id}/tags/{tag} */
export const removeObjectTag: Handler<operations['removeObjectTag']> = async (call) => {
  const { app, context, params } = call
  const { collection, object_id: id, tag } = params
  await removeTag(app.networks, context, { collection, id }, tag)
  return {}
}

/** PUT /v2.0/{collection}/{object_id}/tags */
export const replaceObjectTags: Handler<operations['replaceObjectTags']> = async (call) => {
  const { app, context, params, body } = call
  const { collection, object_id: id } = params
  const tags = await replaceTags(app.networks, context, { collection, id }, body.tags)
  return { body: { tags: [...tags] } }
}
