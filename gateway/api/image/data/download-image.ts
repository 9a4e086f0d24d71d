import type { operations } from '#openapi/image.gen.ts'
import { openStream, readableContent } from '../../../app/images/read-content.ts'
import { byteRange } from '../../../http/byte-range.ts'
import { isNoneMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { contentHeaders, contentTag, partHeaders } from '../../../views/image/content.ts'

/** GET /v2/images/{image_id}/file */
export const downloadImage: Handler<operations['downloadImage']> = async (call) => {
  const { app, context, params, raw } = call
  const content = await readableContent(app.images, context, params.image_id)
  if (content === null) return { status: 204 }
  const headers = contentHeaders(content)
  if (!isNoneMatch(raw.header('if-none-match'), contentTag(content)))
    return { status: 304, headers: { ETag: contentTag(content) } }
  const part = byteRange(raw.header('range'), content.sizeBytes)
  const stream = await openStream(app.images, content, part)
  if (part === undefined) return { stream, headers }
  return { status: 206, stream, headers: { ...headers, ...partHeaders(content, part) } }
}
