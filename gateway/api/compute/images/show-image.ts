import type { operations } from '#openapi/compute.gen.ts'
import { proxiedImage } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedImageView } from '../../../views/proxied-image.ts'

export const showImage: Handler<operations['showImage']> = async (call) => {
  const { app, context, params, links } = call
  const image = await proxiedImage(app.images, context, params.image_id)
  return { body: { image: proxiedImageView(image, links) } }
}
