import type { operations } from '#openapi/image.gen.ts'
import {
  addImageMember as add,
  imageMember,
  imageMembers,
  removeImageMember as remove,
  setImageMember,
} from '../../app/images/members.ts'
import type { ImageMember } from '../../db/image-members.ts'
import type { Handler } from '../../http/operation.ts'
import { zonedTime } from '../../views/time.ts'

/** POST /v2/images/{image_id}/members */
export const addImageMember: Handler<operations['addImageMember']> = async (call) => {
  const { app, context, params, body } = call
  return { body: memberView(await add(app.images, context, params.image_id, body.member)) }
}

/** GET /v2/images/{image_id}/members */
export const listImageMembers: Handler<operations['listImageMembers']> = async (call) => {
  const { app, context, params } = call
  const members = await imageMembers(app.images, context, params.image_id)
  return { body: { members: members.map(memberView), schema: '/v2/schemas/members' } }
}

/** DELETE /v2/images/{image_id}/members/{member_id} */
export const removeImageMember: Handler<operations['removeImageMember']> = async (call) => {
  const { app, context, params } = call
  await remove(app.images, context, params.image_id, params.member_id)
  return {}
}

/** GET /v2/images/{image_id}/members/{member_id} */
export const showImageMember: Handler<operations['showImageMember']> = async (call) => {
  const { app, context, params } = call
  const member = await imageMember(app.images, context, params.image_id, params.member_id)
  return { body: memberView(member) }
}

/** PUT /v2/images/{image_id}/members/{member_id} */
export const updateImageMember: Handler<operations['updateImageMember']> = async (call) => {
  const { app, context, params, body } = call
  const change = { id: params.image_id, member: params.member_id, status: body.status }
  return { body: memberView(await setImageMember(app.images, context, change)) }
}

/** A member as Glance shows it. */
function memberView(member: ImageMember) {
  return {
    member_id: member.member,
    image_id: member.imageId,
    status: member.status,
    created_at: zonedTime(member.createdAt),
    updated_at: zonedTime(member.updatedAt),
    schema: '/v2/schemas/member',
  }
}
