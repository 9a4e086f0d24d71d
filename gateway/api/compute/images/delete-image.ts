import type { operations } from '#openapi/compute.gen.ts'
import { deleteProxiedImage } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteImage: Handler<operations['deleteImage']> = async (call) => {
  const { app, context, params } = call
  await deleteProxiedImage(app.images, context, params.image_id)
  return {}
}
