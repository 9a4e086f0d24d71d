import type { operations } from '#openapi/compute.gen.ts'
import { deleteImageMetadataItem as remove } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteImageMetadataItem: Handler<operations['deleteImageMetadataItem']> = async (
  call,
) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id, params.key)
  return {}
}
