import { Failure } from '#common/errors.ts'
import type { Requester } from '../requester.ts'
import { collectContent } from './collect-content.ts'
import type { Images } from './images.ts'
import { removeImageRow, storedDigest } from './remove-image.ts'
import { ownImage } from './visible-image.ts'

/** Afterwards the image is gone, and its bytes too when no other image has the same. */
export async function deleteImage(images: Images, requester: Requester, id: string): Promise<void> {
  const image = await ownImage(images, requester, id, 'delete')
  if (image.isProtected)
    throw new Failure('forbidden', `Image ${id} is protected and cannot be deleted.`)
  await images.db.transaction((tx) => removeImageRow(tx, image))
  const sha256 = storedDigest(image)
  if (sha256 !== undefined) await collectContent(images, sha256)
}
