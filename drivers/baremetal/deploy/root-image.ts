import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { ImageSpec } from '../../driver.ts'
import type { ImageCache } from '../../image-cache.ts'
import { IMAGE_FORMATS, imageVirtualSize } from '../../image-header.ts'
import { copyDisk } from '../../qemu-img.ts'
import { storageFailure } from '../../storage-failure.ts'
import type { DiskContent } from '../netboot/tasks.ts'

/** Formats of images that can be written to a disk, if need be as what they show. */
export const DISK_FORMATS = IMAGE_FORMATS

/** Content that is there until it is disposed. */
export interface RootImage extends DiskContent, AsyncDisposable {}

/** The image's content, verified, as a disk has it. Throws `invalid` when it is not what it was declared to be. */
export async function rootImage(
  images: ImageCache,
  image: ImageSpec,
  signal: AbortSignal,
): Promise<RootImage> {
  const format = DISK_FORMATS.find((known) => known === image.diskFormat)
  if (format === undefined)
    throw new Failure(
      'invalid',
      `Image ${image.id} has disk format ${image.diskFormat}; machines boot ${DISK_FORMATS.join(' and ')}.`,
    )
  await using owned = new AsyncDisposableStack()
  const { path } = owned.use(await images.hold(image, signal))
  const sizeBytes = await imageVirtualSize(path, format)
  if (format === 'qcow2') return await converted(path, image, sizeBytes, signal)
  const held = owned.move()
  const release = () => held.disposeAsync()
  return { path, sizeBytes, sha256: image.sha256, [Symbol.asyncDispose]: release }
}

/** Beside the image, under a name that the cache drops when it is opened again. */
async function converted(
  from: string,
  image: ImageSpec,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<RootImage> {
  const path = `${from}.part-${randomUUID()}`
  const remove = () => rm(path, { force: true })
  try {
    await copyDisk({ path: from, format: 'qcow2' }, { path, format: 'raw' }, signal)
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer)
    return { path, sizeBytes, sha256: hash.digest('hex'), [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    const cause = storageFailure(error)
    if (!isFailure(cause, 'internal')) throw cause
    throw new Failure('invalid', `Image ${image.id} cannot be used: its data are damaged.`, {
      cause,
    })
  }
}
