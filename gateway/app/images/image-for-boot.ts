import { Failure, isFailure } from '#common/errors.ts'
import type { ImageId } from '#common/ids.ts'
import type { Image } from '../../db/image.ts'
import type { Requester } from '../requester.ts'
import { hostFormat } from './formats/format.ts'
import type { Images } from './images.ts'
import { issueTicket } from './ticket.ts'
import { visibleImage } from './visible-image.ts'

/** A content that hosts fetch; the ticket is added per cell. */
export interface BootFile {
  readonly id: ImageId
  readonly sizeBytes: number
  readonly sha256: string
}

/** The properties of an image in a build request. */
export interface BootImage extends BootFile {
  readonly name: string
  /** Absent: nobody else knows the content. */
  readonly sha512?: string
  readonly diskFormat: string
  readonly minDiskGb: number
  readonly minRamMb: number
  readonly properties: Readonly<Record<string, string>>
  /** What its properties `kernel_id` and `ramdisk_id` name. */
  readonly kernel?: BootFile
  readonly ramdisk?: BootFile
}

export interface BootFlavor {
  readonly memoryMb: number
  /** 0: as large as the image asks. */
  readonly rootGb: number
}

const GIB = 2 ** 30

/**
 * The image that a server is to boot from. Throws `invalid`, with Nova's words, when the requester cannot see it, it is
 * not active, or the flavor is too small for it.
 */
export async function imageForBoot(
  images: Images,
  requester: Requester,
  imageRef: string,
  flavor: BootFlavor,
): Promise<BootImage> {
  const image = await findForBoot(images, requester, imageRef)
  const { content, diskFormat } = activeImage(image)
  refuseLittleMemory(image, flavor)
  checkDisk(flavor.rootGb * GIB, image.minDiskGb * GIB, content.virtualSizeBytes)
  return {
    id: image.id as ImageId,
    name: image.name ?? '',
    diskFormat,
    sizeBytes: content.sizeBytes,
    sha256: content.sha256,
    sha512: content.sha512,
    minDiskGb: image.minDiskGb,
    minRamMb: image.minRamMb,
    properties: image.properties,
    ...(await namedFile(images, requester, 'kernel', image)),
    ...(await namedFile(images, requester, 'ramdisk', image)),
  }
}

/** Throws `invalid` for a flavor with less memory than the image asks for. */
export function refuseLittleMemory(
  { minRamMb }: Pick<BootImage, 'minRamMb'>,
  { memoryMb }: Pick<BootFlavor, 'memoryMb'>,
): void {
  if (memoryMb < minRamMb)
    throw new Failure('invalid', "Flavor's memory is too small for requested image.")
}

/** Throws `invalid` for an image that cannot be read. */
function activeImage(image: Image) {
  const { content, status } = image
  const diskFormat = hostFormat(image)
  if (status === 'active' && content !== null && diskFormat !== null) return { content, diskFormat }
  throw new Failure('invalid', `Image ${image.id} is not active.`)
}

/** The image that a property of the image names, as a requester may use it who names it himself. */
async function namedFile<Name extends 'kernel' | 'ramdisk'>(
  images: Images,
  requester: Requester,
  name: Name,
  { properties }: Image,
): Promise<{ readonly [key in Name]?: BootFile }> {
  const ref = properties[`${name}_id`] ?? ''
  if (ref === '') return {}
  const named = await findForBoot(images, requester, ref)
  const { sizeBytes, sha256 } = activeImage(named).content
  return { [name]: { id: named.id as ImageId, sizeBytes, sha256 } } as { [key in Name]: BootFile }
}

/** As long as the slowest host may take to begin its download after the build was sent. */
const TICKET_LIFE_MS = 3_600_000

/** Proof for the image service that this cell may read this image for the next hour. */
export function ticketForCell(images: Images, imageId: string, cellId: string): string {
  const expiresAtMs = images.clock.now() + TICKET_LIFE_MS
  return issueTicket(images.ticketKey, { use: 'read', imageId, cellId, expiresAtMs })
}

async function findForBoot(images: Images, requester: Requester, ref: string): Promise<Image> {
  try {
    return await visibleImage(images, requester, ref)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('invalid', 'Can not find requested image', { cause: error })
  }
}

function checkDisk(flavorBytes: number, minBytes: number, virtualBytes: number): void {
  if (flavorBytes === 0) return
  if (flavorBytes < minBytes)
    throw new Failure(
      'invalid',
      "Flavor's disk is smaller than the minimum size specified in image metadata. " +
        `Flavor disk is ${flavorBytes} bytes, minimum size is ${minBytes} bytes.`,
    )
  if (flavorBytes < virtualBytes)
    throw new Failure(
      'invalid',
      "Flavor's disk is too small for requested image. " +
        `Flavor disk is ${flavorBytes} bytes, image is ${virtualBytes} bytes.`,
    )
}
