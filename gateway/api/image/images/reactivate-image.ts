import type { operations } from '#openapi/image.gen.ts'
import { reactivateImage as reactivate } from '../../../app/images/set-active.ts'
import type { Handler } from '../../../http/operation.ts'

/** POST /v2/images/{image_id}/actions/reactivate */
export const reactivateImage: Handler<operations['reactivateImage']> = async (call) => {
  const { app, context, params } = call
  await reactivate(app.images, context, params.image_id)
  return {}
}
