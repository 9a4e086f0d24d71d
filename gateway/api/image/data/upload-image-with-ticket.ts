import type { operations } from '#openapi/image.gen.ts'
import { fillSnapshot } from '../../../app/images/fill-snapshot.ts'
import { octetStream } from '../../../http/octet-stream.ts'
import type { Handler } from '../../../http/operation.ts'

/** PUT /internal/images/{image_id}/file */
export const uploadImageWithTicket: Handler<operations['uploadImageWithTicket']> = async (call) => {
  const { app, params, raw } = call
  await fillSnapshot(app.images, {
    imageId: params.image_id,
    ...octetStream(raw),
    ticket: raw.header('x-weir-image-ticket') ?? '',
    diskFormat: raw.header('x-weir-disk-format') ?? '',
  })
  return { status: 204 }
}
