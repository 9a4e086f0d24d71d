import type { operations } from '#openapi/image.gen.ts'
import { removeImageTag } from '../../../app/images/update-image.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2/images/{image_id}/tags/{tag} */
export const deleteImageTag: Handler<operations['deleteImageTag']> = async (call) => {
  const { app, context, params } = call
  await removeImageTag(app.images, context, params.image_id, params.tag)
  return {}
}
