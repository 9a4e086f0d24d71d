import type { operations } from '#openapi/compute.gen.ts'
import { imageMetadataItem } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const showImageMetadataItem: Handler<operations['showImageMetadataItem']> = async (call) => {
  const { app, context, params } = call
  const meta = await imageMetadataItem(app.images, context, params.image_id, params.key)
  return { body: { meta } }
}
