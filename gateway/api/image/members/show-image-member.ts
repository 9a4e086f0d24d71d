import type { operations } from '#openapi/image.gen.ts'
import { imageMember } from '../../../app/images/members.ts'
import type { Handler } from '../../../http/operation.ts'
import { memberView } from '../../../views/image/member.ts'

/** GET /v2/images/{image_id}/members/{member_id} */
export const showImageMember: Handler<operations['showImageMember']> = async (call) => {
  const { app, context, params } = call
  const member = await imageMember(app.images, context, params.image_id, params.member_id)
  return { body: memberView(member) }
}
