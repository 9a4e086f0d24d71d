import { Failure } from '#common/errors.ts'
import type { FlavorSpec, ImageSpec } from '../../driver.ts'
import { IMAGE_FORMATS, type ImageFormat, imageVirtualSize } from '../../image-header.ts'
import { createOverlay } from '../../qemu-img.ts'

const GIB = 1024 ** 3
/** The sector size every disk is a multiple of. */
const SECTOR = 512

interface DiskSubject {
  readonly image: ImageSpec
  readonly flavor: Pick<FlavorSpec, 'name' | 'rootGb'>
}

/**
 * Afterwards `path` is the instance's root disk: as large as its flavor says, showing the image at `imagePath`.
 * Throws `invalid` when the image is not what it was declared to be or is larger than the flavor's disk.
 */
export async function createRootDisk(
  path: string,
  imagePath: string,
  spec: DiskSubject,
  signal: AbortSignal,
): Promise<void> {
  const format = imageFormat(spec.image)
  const virtualSize = await imageVirtualSize(imagePath, format)
  const flavorSize = spec.flavor.rootGb * GIB
  if (flavorSize > 0 && virtualSize > flavorSize) throw tooLarge(spec, virtualSize)
  const size = flavorSize > 0 ? flavorSize : Math.ceil(virtualSize / SECTOR) * SECTOR
  await createOverlay(path, { path: imagePath, format }, size, signal)
}

/** The declared format, if this host can boot disks in that format; throws `invalid` otherwise. */
export function imageFormat(image: ImageSpec): ImageFormat {
  const format = IMAGE_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; this host boots ${IMAGE_FORMATS.join(' and ')}.`,
    )
  return format
}

function tooLarge({ image, flavor }: DiskSubject, size: number): Failure {
  const needsGb = Math.ceil(size / GIB)
  return new Failure(
    'invalid',
    `Image ${image.id} needs a disk of ${needsGb} GB; flavor ${flavor.name} has ${flavor.rootGb} GB.`,
  )
}
