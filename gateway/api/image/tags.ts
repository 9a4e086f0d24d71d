import type { operations } from '#openapi/image.gen.ts'
import { addImageTag as add, removeImageTag } from '../../app/images/update-image.ts'
import type { Handler } from '../../http/operation.ts'

/** PUT /v2/images/{image_id}/tags/{tag} */
export const addImageTag: Handler<operations['addImageTag']> = async (call) => {
  const { app, context, params } = call
  await add(app.images, context, params.image_id, params.tag)
  return {}
}

/** DELETE /v2/images/{image_id}/tags/{tag} */
export const deleteImageTag: Handler<operations['deleteImageTag']> = async (call) => {
  const { app, context, params } = call
  await removeImageTag(app.images, context, params.image_id, params.tag)
  return {}
}
