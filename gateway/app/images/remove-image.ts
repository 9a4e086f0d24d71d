import type { Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import type { Image } from '../../db/image.ts'
import { discountContent } from '../../db/image-contents.ts'
import { deleteImageRow, findImage } from '../../db/images.ts'
import { collectContent } from './collect-content.ts'
import type { Images } from './images.ts'

/** Afterwards the image is gone, of any project. One that changes meanwhile stays, to be removed later. */
export async function removeImage(images: Images, id: string): Promise<void> {
  const image = await findImage(images.db, id)
  if (image === undefined) return
  try {
    await images.db.transaction((tx) => removeImageRow(tx, image))
  } catch (error) {
    if (isFailure(error, 'conflict')) return
    throw error
  }
  const content = image.content ?? image.staged
  if (content !== null) await collectContent(images, content.sha256)
}

/** Afterwards the image is gone, and its content waits for collection if no other image has it. */
export async function removeImageRow(tx: Tx, image: Image): Promise<void> {
  const content = image.content ?? image.staged
  await deleteImageRow(tx, image)
  if (content !== null) discountContent(tx, content.sha256)
}
