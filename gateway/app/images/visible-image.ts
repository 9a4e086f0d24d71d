import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Image } from '../../db/image.ts'
import { findMember } from '../../db/image-members.ts'
import { findImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'

/** The image, if the requester may see it; else `not-found`, for an unknown one and for a hidden one alike. */
export async function visibleImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<Image> {
  const image = isUuid(id) ? await findImage(images.db, id) : undefined
  if (image === undefined || !(await isVisible(images, image, requester))) throw noSuchImage(id)
  return image
}

/** The image, if the requester may change it: `not-found` when it is hidden from him, `forbidden` when not his. */
export async function ownImage(
  images: Images,
  requester: Requester,
  id: string,
  action: string,
): Promise<Image> {
  const image = await visibleImage(images, requester, id)
  if (!requester.isAdmin && image.owner !== requester.projectId)
    throw new Failure('forbidden', `You are not permitted to ${action} image ${id}.`)
  return image
}

export function noSuchImage(id: string): Failure {
  return new Failure('not-found', `No image found with ID ${id}`)
}

async function isVisible(images: Images, image: Image, requester: Requester): Promise<boolean> {
  const { projectId, isAdmin } = requester
  if (image.isPartOfMove) return false
  if (isAdmin || image.owner === projectId) return true
  if (image.visibility === 'public' || image.visibility === 'community') return true
  // A member need not have accepted to look at the image: that only puts it in its lists.
  if (image.visibility !== 'shared' || projectId === null) return false
  return (await findMember(images.db, image.id, projectId)) !== undefined
}
