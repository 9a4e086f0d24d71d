import type { Executor } from '#common/db/database.ts'
import type { ImageId } from '#common/ids.ts'
import type { Image } from '../../../db/image.ts'
import { shelvedImage } from '../../../db/image-snapshots.ts'
import { findImage } from '../../../db/images.ts'
import { hostFormat } from '../../images/formats/format.ts'
import type { BuildSpec } from '../boot/build-spec.ts'

/**
 * The image that a shelved server waits in, as it is built from it again, or with `move` one that is in no cell; undefined: it is
 * in none, or somebody has deleted that.
 */
export async function findShelvedImage(
  db: Executor,
  serverId: string,
  own: BuildSpec['image'],
  purpose: 'shelve' | 'move' = 'shelve',
): Promise<BuildSpec['image'] | undefined> {
  const id = await shelvedImage(db, serverId, purpose)
  const image = id === undefined ? undefined : await findImage(db, id)
  return image && savedImage(image, own)
}

/** An image that a server was saved in, as the server is built from it, with the kernel of its own; undefined: it has no content. */
export function savedImage(
  image: Image,
  { kernel, ramdisk }: BuildSpec['image'],
): BuildSpec['image'] | undefined {
  const { content, name, minDiskGb, minRamMb, properties } = image
  const diskFormat = hostFormat(image)
  if (content === null || diskFormat === null) return undefined
  const { sizeBytes, sha256, sha512 } = content
  return {
    id: image.id as ImageId,
    name: name ?? '',
    diskFormat,
    sizeBytes,
    sha256,
    sha512,
    minDiskGb,
    minRamMb,
    properties,
    ...(kernel && { kernel }),
    ...(ramdisk && { ramdisk }),
  }
}
