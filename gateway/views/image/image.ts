import type { Image as ImageDocument } from '#openapi/image.gen.ts'
import { STORE } from '../../app/images/import/start-import.ts'
import type { Image } from '../../db/image.ts'
import { zonedTime } from '../time.ts'

/** An image as Glance shows it: its properties stand beside its attributes. Paths have no prefix, as there. */
export function imageView(image: Image): ImageDocument {
  const { content } = image
  const path = `/v2/images/${image.id}`
  const view = {
    ...image.properties,
    id: image.id,
    name: image.name,
    status: image.status,
    visibility: image.visibility,
    owner: image.owner,
    size: content?.sizeBytes ?? image.staged?.sizeBytes ?? null,
    virtual_size: content?.virtualSizeBytes ?? null,
    checksum: content?.md5 ?? null,
    os_hash_algo: content === null ? null : 'sha512',
    os_hash_value: content?.sha512 ?? null,
    disk_format: image.diskFormat,
    container_format: image.containerFormat,
    min_disk: image.minDiskGb,
    min_ram: image.minRamMb,
    protected: image.isProtected,
    os_hidden: image.isHidden,
    tags: image.tags,
    ...(content === null ? {} : { stores: STORE }),
    created_at: zonedTime(image.createdAt),
    updated_at: zonedTime(image.updatedAt),
    self: path,
    file: `${path}/file`,
    schema: '/v2/schemas/image',
  }
  // TypeScript cannot say that every other key is text.
  return view as unknown as ImageDocument
}
