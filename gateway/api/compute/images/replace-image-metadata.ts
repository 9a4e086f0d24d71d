import type { operations } from '#openapi/compute.gen.ts'
import { setImageMetadata } from '../../../app/images/image-metadata.ts'
import type { Handler } from '../../../http/operation.ts'

export const replaceImageMetadata: Handler<operations['replaceImageMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const change = { items: body.metadata, keep: false }
  const metadata = await setImageMetadata(app.images, context, params.image_id, change)
  return { body: { metadata } }
}
