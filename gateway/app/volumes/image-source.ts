import { Failure, isFailure } from '#common/errors.ts'
import type { Image, ImageContent } from '../../db/image.ts'
import type { Images } from '../images/images.ts'
import { visibleImage } from '../images/visible-image.ts'
import type { Requester } from '../requester.ts'
import type { FoundSource } from './volume-source.ts'

const GIB = 2 ** 30

/**
 * An image as the source of a volume of `sizeGb`; null: the request does not say. Throws `invalid`, in the words of
 * Cinder, for an image that the requester cannot see, that is not active, or does not fit.
 */
export async function imageSource(
  images: Images,
  requester: Requester,
  reference: string,
  sizeGb: number | null,
): Promise<FoundSource> {
  // Clients of Cinder may send the address of an image.
  const image = await named(images, requester, reference.split('/').at(-1) ?? '')
  const { id, content, diskFormat, minDiskGb, minRamMb, properties } = image
  if (image.status !== 'active' || content === null || diskFormat === null)
    throw new Failure('invalid', `Invalid input received: Image ${id} is not active.`)
  if (image.containerFormat === 'docker')
    throw new Failure('invalid', `Image ${id} is a container's: volumes are made from disks.`)
  if (sizeGb !== null) refuseTooSmall(sizeGb, content, minDiskGb)
  const { sizeBytes, sha256 } = content
  const labels = { name: image.name ?? '', minDiskGb, minRamMb, properties }
  return {
    source: { kind: 'image', image: { id, sizeBytes, sha256, diskFormat, ...labels } },
    cellId: null,
    like: null,
    isBootable: true,
    imageMetadata: metadataOf(image, content),
  }
}

async function named(images: Images, requester: Requester, id: string): Promise<Image> {
  try {
    return await visibleImage(images, requester, id)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('invalid', 'Invalid image identifier or unable to access requested image.', {
      cause: error,
    })
  }
}

/** Cinder knows the size of the disk once the image is unpacked, and leaves such a volume in error. */
function refuseTooSmall(
  sizeGb: number,
  { sizeBytes, virtualSizeBytes }: ImageContent,
  minDiskGb: number,
): void {
  const imageGb = Math.ceil(Math.max(sizeBytes, virtualSizeBytes) / GIB)
  if (imageGb > sizeGb)
    throw new Failure(
      'invalid',
      `Invalid input received: Size of specified image ${imageGb}GB is larger than volume size ${sizeGb}GB.`,
    )
  if (minDiskGb > sizeGb)
    throw new Failure(
      'invalid',
      `Invalid input received: Volume size ${sizeGb}GB cannot be smaller than the image minDisk size ${minDiskGb}GB.`,
    )
}

function metadataOf(
  { id, name, containerFormat, diskFormat, minDiskGb, minRamMb, properties }: Image,
  { md5, sizeBytes }: ImageContent,
): Readonly<Record<string, string>> {
  return {
    ...properties,
    image_id: id,
    image_name: name ?? '',
    checksum: md5,
    container_format: containerFormat ?? '',
    disk_format: diskFormat ?? '',
    min_disk: String(minDiskGb),
    min_ram: String(minRamMb),
    size: String(sizeBytes),
  }
}
