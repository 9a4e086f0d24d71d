import { copyFile } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { FlavorSpec, ImageSpec } from '../../driver.ts'
import { IMAGE_FORMATS, type ImageFormat, imageVirtualSize } from '../../image-header.ts'
import { createOverlay, growDisk, rebase } from '../../qemu-img.ts'

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

/**
 * The same with the changes in the file at `changesPath` on top of the image, which stays as it is. Throws `invalid` also for
 * changes of a disk of another size.
 */
export async function createChangedRootDisk(
  path: string,
  from: { readonly imagePath: string; readonly changesPath: string },
  spec: DiskSubject,
  signal: AbortSignal,
): Promise<void> {
  const format = imageFormat(spec.image)
  const { imagePath, changesPath } = from
  const sizes = [
    await imageVirtualSize(imagePath, format),
    await imageVirtualSize(changesPath, 'qcow2'),
  ] as const
  if (sizes[0] !== sizes[1])
    throw new Failure(
      'invalid',
      `The changes of image ${spec.image.id} are those of a disk of ${sizes[1]} bytes; the image has ${sizes[0]}.`,
    )
  const flavorSize = spec.flavor.rootGb * GIB
  if (flavorSize > 0 && sizes[0] > flavorSize) throw tooLarge(spec, sizes[0])
  await copyFile(changesPath, path)
  await rebase(path, { path: imagePath, format }, signal)
  if (flavorSize > sizes[0]) await growDisk(path, flavorSize, signal)
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
