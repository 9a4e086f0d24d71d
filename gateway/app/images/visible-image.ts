import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Image } from '../../db/image.ts'
import { findImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'

/** The image, if the requester may know of it; else `not-found`, whatever the reason. */
export async function visibleImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<Image> {
  const image = isUuid(id) ? await findImage(images.db, id) : undefined
  if (image === undefined || !isVisible(image, requester)) throw noSuchImage(id)
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

function isVisible(image: Image, requester: Requester): boolean {
  if (requester.isAdmin || image.owner === requester.projectId) return true
  return image.visibility === 'public' || image.visibility === 'community'
}
