import type { operations } from '#openapi/image.gen.ts'
import { removeImageMember as remove } from '../../../app/images/members.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v2/images/{image_id}/members/{member_id} */
export const removeImageMember: Handler<operations['removeImageMember']> = async (call) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id, params.member_id)
  return {}
}
