import type { operations } from '#openapi/image.gen.ts'
import { deleteImage as remove } from '../../../app/images/delete-image.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2/images/{image_id} */
export const deleteImage: Handler<operations['deleteImage']> = async (call) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id)
  return {}
}
