import type { operations } from '#openapi/image.gen.ts'
import { setImageMember } from '../../../app/images/members.ts'
import type { Handler } from '../../../http/operation.ts'
import { memberView } from '../../../views/image/member.ts'

/** PUT /v2/images/{image_id}/members/{member_id} */
export const updateImageMember: Handler<operations['updateImageMember']> = async (call) => {
  const { app, context, params, body } = call
  const change = { id: params.image_id, member: params.member_id, status: body.status }
  return { body: memberView(await setImageMember(app.images, context, change)) }
}
