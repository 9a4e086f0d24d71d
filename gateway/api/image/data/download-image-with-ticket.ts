import type { operations } from '#openapi/image.gen.ts'
import { readContentByTicket } from '../../../app/images/read-content.ts'
import type { Handler } from '../../../http/operation.ts'
import { contentHeaders } from '../../../views/image/content.ts'

/** GET /internal/images/{image_id}/file */
export const downloadImageWithTicket: Handler<operations['downloadImageWithTicket']> = async (
  call,
) => {
  const { app, params, raw } = call
  const ticket = raw.header('x-weir-image-ticket') ?? ''
  const { content, stream } = await readContentByTicket(app.images, params.image_id, ticket)
  return { stream, headers: contentHeaders(content) }
}
