import type { operations } from '#openapi/image.gen.ts'
import { visibleImage } from '../../../app/images/visible-image.ts'
import type { Handler } from '../../../http/operation.ts'
import { imageView } from '../../../views/image/image.ts'

/** GET /v2/images/{image_id} */
export const showImage: Handler<operations['showImage']> = async (call) => {
  const { app, context, params } = call
  return { body: imageView(await visibleImage(app.images, context, params.image_id)) }
}
