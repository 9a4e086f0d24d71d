import type { operations } from '#openapi/image.gen.ts'
import { deactivateImage as deactivate } from '../../../app/images/set-active.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v2/images/{image_id}/actions/deactivate */
export const deactivateImage: Handler<operations['deactivateImage']> = async (call) => {
  const { app, context, params } = call
  await deactivate(app.images, context, params.image_id)
  return {}
}
