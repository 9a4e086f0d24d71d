import type { Executor } from '#common/db/database.ts'
import type { ImageId } from '#common/ids.ts'
import { shelvedImage } from '../../../db/image-snapshots.ts'
import { findImage } from '../../../db/images.ts'
import type { BuildSpec } from '../boot/build-spec.ts'

/** The image that a shelved server waits in, as it is built from it again; undefined: it is in none, or somebody has deleted that. */
export async function findShelvedImage(
  db: Executor,
  serverId: string,
  { kernel, ramdisk }: BuildSpec['image'],
): Promise<BuildSpec['image'] | undefined> {
  const id = await shelvedImage(db, serverId)
  const image = id === undefined ? undefined : await findImage(db, id)
  if (image === undefined) return undefined
  const { content, diskFormat, name, minDiskGb, minRamMb, properties } = image
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
