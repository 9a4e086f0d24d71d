import type { ImageSpec, Owner } from '../../driver.ts'

/** Properties by which an image below is known as a copy of ours. They are stored there, so they never change. */
export const SHA256_PROPERTY = 'weir_sha256'
export const IMAGE_PROPERTY = 'weir_image'
export const HOST_PROPERTY = 'weir_host'

const NAME_MAX = 255

/** What Glance has of its own, or keeps for itself: an image cannot be made with these as properties. */
const TAKEN =
  /^(os_glance_|os_hash_)|^(id|name|owner|status|visibility|protected|tags|size|virtual_size|checksum|file|self|schema|stores|locations|direct_url|created_at|updated_at|disk_format|container_format|min_disk|min_ram|os_hidden)$/

const COPY = / \(copy of [0-9a-f-]{36}\)$/

/** Of the copy in the cloud below, or of a copy of a copy. Glance takes 255 characters. */
export function copyName({ id, name }: Pick<ImageSpec, 'id' | 'name'>): string {
  const suffix = ` (copy of ${id})`
  return `${name.replace(COPY, '').slice(0, NAME_MAX - suffix.length)}${suffix}`
}

/** The body of Glance's `POST /v2/images` for a copy of an image of ours. */
export function imageBody(owner: Owner, image: ImageSpec): object {
  const properties = Object.entries(image.properties).filter(([name]) => !TAKEN.test(name))
  return {
    ...Object.fromEntries(properties),
    // A name of ours alone: users there go by the name of the original.
    name: copyName(image),
    disk_format: image.diskFormat,
    container_format: image.diskFormat === 'docker' ? 'docker' : 'bare',
    visibility: 'private',
    min_disk: image.minDiskGb,
    min_ram: image.minRamMb,
    [SHA256_PROPERTY]: image.sha256,
    [IMAGE_PROPERTY]: image.id,
    [HOST_PROPERTY]: owner.hostId,
  }
}
