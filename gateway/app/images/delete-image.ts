import { Failure } from '#common/errors.ts'
import { discountContent } from '../../db/image-contents.ts'
import { deleteImageRow } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import { collectContent } from './collect-content.ts'
import type { Images } from './images.ts'
import { ownImage } from './visible-image.ts'

/** Afterwards the image is gone, and its bytes too when no other image has the same. */
export async function deleteImage(images: Images, requester: Requester, id: string): Promise<void> {
  const image = await ownImage(images, requester, id, 'delete')
  if (image.isProtected)
    throw new Failure('forbidden', `Image ${id} is protected and cannot be deleted.`)
  const content = image.content ?? image.staged
  await images.db.transaction(async (tx) => {
    await deleteImageRow(tx, image)
    if (content !== null) await discountContent(tx, content.sha256)
  })
  if (content !== null) await collectContent(images, content.sha256)
}
