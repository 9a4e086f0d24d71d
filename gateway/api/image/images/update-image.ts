import type { operations } from '#openapi/image.gen.ts'
import { updateImage as update } from '../../../app/images/update-image.ts'
import type { Handler } from '../../../http/operation.ts'
import { imageView } from '../../../views/image/image.ts'

/** PATCH /v2/images/{image_id} */
export const updateImage: Handler<operations['updateImage']> = async (call) => {
  const { app, context, params, body } = call
  return { body: imageView(await update(app.images, context, params.image_id, body)) }
}
