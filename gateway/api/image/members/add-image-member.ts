import type { operations } from '#openapi/image.gen.ts'
import { addImageMember as add } from '../../../app/images/members.ts'
import type { Handler } from '../../../http/operation.ts'
import { memberView } from '../../../views/image/member.ts'

/** POST /v2/images/{image_id}/members */
export const addImageMember: Handler<operations['addImageMember']> = async (call) => {
  const { app, context, params, body } = call
  return { body: memberView(await add(app.images, context, params.image_id, body.member)) }
}
