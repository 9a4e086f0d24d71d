import type { operations } from '#openapi/image.gen.ts'
import { createImage as create } from '../../../app/images/create-image.ts'
import type { Handler } from '../../../http/operation.ts'
import { imageView } from '../../../views/image/image.ts'
import { IMPORT_HEADERS } from '../../../views/image/info.ts'

/** POST /v2/images */
export const createImage: Handler<operations['createImage']> = async (call) => {
  const { app, context, body, links } = call
  const image = await create(app.images, context, body)
  return {
    body: imageView(image),
    headers: { Location: links.to(`/image/v2/images/${image.id}`), ...IMPORT_HEADERS },
  }
}
