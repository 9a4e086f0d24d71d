import type { operations } from '#openapi/image.gen.ts'
import { imageMembers } from '../../../app/images/members.ts'
import type { Handler } from '../../../http/operation.ts'
import { memberView } from '../../../views/image/member.ts'

/** GET /v2/images/{image_id}/members */
export const listImageMembers: Handler<operations['listImageMembers']> = async (call) => {
  const { app, context, params } = call
  const members = await imageMembers(app.images, context, params.image_id)
  return { body: { members: members.map(memberView), schema: '/v2/schemas/members' } }
}
