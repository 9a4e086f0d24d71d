import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { IMAGE_MEMBER_STATUSES, type ImageMemberStatus } from '#common/states/image-states.ts'
import type { Image } from '../../db/image.ts'
import {
  deleteMember,
  findMember,
  type ImageMember,
  insertMember,
  listMembers,
  updateMember,
} from '../../db/image-members.ts'
import { holdImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'
import { noSuchImage, visibleImage } from './visible-image.ts'

/** As many projects as one image may be shared with. */
const MEMBERS_MAX = 128

/** All members for the owner; for a member, only itself. Throws `not-found`, and `forbidden` unless shared. */
export async function imageMembers(
  images: Images,
  requester: Requester,
  id: string,
): Promise<readonly ImageMember[]> {
  const image = await sharedImage(images, requester, id)
  const members = await listMembers(images.db, id)
  if (isOwner(image, requester)) return members
  return members.filter(({ member }) => member === requester.projectId)
}

/** One member, for the owner and for the member itself. Throws `not-found` for every reason. */
export async function imageMember(
  images: Images,
  requester: Requester,
  id: string,
  member: string,
): Promise<ImageMember> {
  const image = await visibleImage(images, requester, id)
  const found =
    isOwner(image, requester) || member === requester.projectId
      ? await findMember(images.db, id, member)
      : undefined
  if (image.visibility !== 'shared' || found === undefined) throw noSuchMember(id, member)
  return found
}

/**
 * Afterwards the image is offered to a project, which has it in its lists once it accepts. Throws `forbidden` for
 * another's image or one that is not shared, `conflict` for a member already there, `over-quota`.
 */
export async function addImageMember(
  images: Images,
  requester: Requester,
  id: string,
  member: string,
): Promise<ImageMember> {
  refuseUnless(isOwner(await sharedImage(images, requester, id), requester), 'create', id)
  const now = new Date(images.clock.now())
  const added = { imageId: id, member, status: 'pending', createdAt: now, updatedAt: now } as const
  try {
    await images.db.transaction(async (tx) => {
      // The row is held so that neither a delete of the image nor another member comes between.
      if (!(await holdImage(tx, id))) throw noSuchImage(id)
      if ((await listMembers(tx, id)).length >= MEMBERS_MAX)
        throw new Failure('over-quota', `The limit of ${MEMBERS_MAX} image members is exceeded.`)
      await insertMember(tx, added)
    })
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new Failure('conflict', `Member ${member} is duplicated for image ${id}`, {
      cause: error,
    })
  }
  return added
}

/** Afterwards the member is as it says itself. Only it, and administrators, may. Throws `forbidden`, `invalid`. */
export async function setImageMember(
  images: Images,
  requester: Requester,
  change: { readonly id: string; readonly member: string; readonly status: string },
): Promise<ImageMember> {
  const { id, member } = change
  const image = await sharedImage(images, requester, id)
  const status = memberStatus(change.status)
  const isSelf = member === requester.projectId && image.owner !== requester.projectId
  if (!requester.isAdmin && !isSelf)
    throw new Failure('forbidden', "You are not permitted to modify 'status' on this image member.")
  const updatedAt = new Date(images.clock.now())
  if (!(await updateMember(images.db, { imageId: id, member, status, updatedAt })))
    throw noSuchMember(id, member)
  return imageMember(images, requester, id, member)
}

/** Afterwards the project no longer sees the image, unless it is everybody's. Throws `forbidden` but for the owner. */
export async function removeImageMember(
  images: Images,
  requester: Requester,
  id: string,
  member: string,
): Promise<void> {
  refuseUnless(isOwner(await sharedImage(images, requester, id), requester), 'delete', id)
  if (!(await deleteMember(images.db, id, member))) throw noSuchMember(id, member)
}

async function sharedImage(images: Images, requester: Requester, id: string): Promise<Image> {
  const image = await visibleImage(images, requester, id)
  if (image.visibility === 'shared') return image
  throw new Failure('forbidden', 'Only shared images have members.')
}

function isOwner(image: Image, requester: Requester): boolean {
  return requester.isAdmin || image.owner === requester.projectId
}

function refuseUnless(isAllowed: boolean, what: string, id: string): void {
  if (!isAllowed) throw new Failure('forbidden', `Not allowed to ${what} members for image ${id}.`)
}

function memberStatus(text: string): ImageMemberStatus {
  const hit = IMAGE_MEMBER_STATUSES.find((status) => status === text)
  if (hit !== undefined) return hit
  throw new Failure('invalid', `Status must be one of ${IMAGE_MEMBER_STATUSES.join(', ')}.`)
}

function noSuchMember(id: string, member: string): Failure {
  return new Failure('not-found', `${member} not found in the member list of the image ${id}.`)
}
