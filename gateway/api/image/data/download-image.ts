import type { operations } from '#openapi/image.gen.ts'
import { readContent } from '../../../app/images/read-content.ts'
import type { Handler } from '../../../http/operation.ts'
import { contentHeaders } from '../../../views/image/content.ts'

/** GET /v2/images/{image_id}/file */
export const downloadImage: Handler<operations['downloadImage']> = async (call) => {
  const { app, context, params } = call
  const opened = await readContent(app.images, context, params.image_id)
  if (opened === undefined) return { status: 204 }
  return { stream: opened.stream, headers: contentHeaders(opened.content) }
}
