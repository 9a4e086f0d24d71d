import type { operations } from '#openapi/compute.gen.ts'
import { proxiedImage } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const listImageMetadata: Handler<operations['listImageMetadata']> = async (call) => {
  const { app, context, params } = call
  const { properties } = await proxiedImage(app.images, context, params.image_id)
  return { body: { metadata: properties } }
}
