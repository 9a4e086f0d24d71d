import type { operations } from '#openapi/image.gen.ts'
import { stageContent } from '../../../app/images/upload-content.ts'
import { octetStream } from '../../../http/octet-stream.ts'
import type { Handler } from '../../../http/operation.ts'

/** PUT /v2/images/{image_id}/stage */
export const stageImage: Handler<operations['stageImage']> = async (call) => {
  const { app, context, params, raw } = call
  await stageContent(app.images, context, { imageId: params.image_id, ...octetStream(raw) })
  return {}
}
