import type { ImageMember } from '../../db/image-members.ts'
import { zonedTime } from '../time.ts'

/** A member as Glance shows it. */
export function memberView(member: ImageMember) {
  return {
    member_id: member.member,
    image_id: member.imageId,
    status: member.status,
    created_at: zonedTime(member.createdAt),
    updated_at: zonedTime(member.updatedAt),
    schema: '/v2/schemas/member',
  }
}
