import { changedFormat } from '#common/changed-format.ts'
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
  if (image === undefined || image.changesOf === null) return image && savedImage(image, own)
  const before = await findImage(db, image.changesOf)
  const [whole, changes] = [before && savedImage(before, own), savedImage(image, own)]
  if (whole === undefined || changes === undefined) return undefined
  const { id: changesId, sizeBytes, sha256, ...labels } = changes
  const { name, minDiskGb, minRamMb, properties } = labels
  const { sha512: _ofBefore, ...content } = whole
  return {
    ...{ ...content, name, minDiskGb, minRamMb, properties },
    diskFormat: changedFormat(whole.diskFormat),
    changes: { id: changesId, sizeBytes, sha256 },
  }
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
