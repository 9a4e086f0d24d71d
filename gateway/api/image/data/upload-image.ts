import type { operations } from '#openapi/image.gen.ts'
import { uploadContent } from '../../../app/images/upload-content.ts'
import { octetStream } from '../../../http/octet-stream.ts'
import type { Handler } from '../../../http/operation.ts'

/** PUT /v2/images/{image_id}/file */
export const uploadImage: Handler<operations['uploadImage']> = async (call) => {
  const { app, context, params, raw } = call
  const upload = { imageId: params.image_id, ...octetStream(raw) }
  await uploadContent(app.images, context, upload)
  return {}
}
