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
  const sha256 = storedDigest(image)
  if (sha256 !== undefined) await collectContent(images, sha256)
}

/** The content of the image that its deletion leaves to be collected; undefined: none, or a host has it, which removes it by itself. */
export function storedDigest({ content, staged }: Image): string | undefined {
  const found = content ?? staged
  return found === null || found.hostId !== undefined ? undefined : found.sha256
}

/** Afterwards the image is gone, and its content waits for collection if no other image has it. */
export async function removeImageRow(tx: Tx, image: Image): Promise<void> {
  await deleteImageRow(tx, image)
  const sha256 = storedDigest(image)
  if (sha256 !== undefined) discountContent(tx, sha256)
}
