import type { operations } from '#openapi/image.gen.ts'
import { ownImage } from '../../../app/images/visible-image.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /v2/images/{image_id}/members */
export const listImageMembers: Handler<operations['listImageMembers']> = async (call) => {
  const { app, context, params } = call
  await ownImage(app.images, context, params.image_id, 'see the members of')
  return { body: { members: [], schema: '/v2/schemas/members' } }
}
