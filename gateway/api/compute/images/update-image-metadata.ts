import type { operations } from '#openapi/compute.gen.ts'
import { setImageMetadata } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateImageMetadata: Handler<operations['updateImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: true }
  const metadata = await setImageMetadata(app.images, context, params.image_id, change)
  return { body: { metadata } }
}
