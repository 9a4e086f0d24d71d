import { Failure } from '#common/errors.ts'
import type { ImageSpec } from '../../driver.ts'
import type { ImageCache } from '../../image-cache.ts'
import { imageVirtualSize } from '../../image-header.ts'
import type { DiskContent } from '../netboot/tasks.ts'

/** Formats of images that can be written to a disk as they are. */
export const DISK_FORMATS = ['raw'] as const

/** The image's content, verified. Throws `invalid` when it is not what it was declared to be. */
export async function rootImage(
  images: ImageCache,
  image: ImageSpec,
  signal: AbortSignal,
): Promise<DiskContent> {
  const format = DISK_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; machines boot ${DISK_FORMATS.join(' and ')}.`,
    )
  const path = await images.path(image, signal)
  const sizeBytes = await imageVirtualSize(path, format)
  return { path, sizeBytes, sha256: image.sha256 }
}
