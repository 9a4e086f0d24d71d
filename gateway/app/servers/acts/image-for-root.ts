import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type BootImage, imageForBoot } from '../../images/image-for-boot.ts'
import type { Images } from '../../images/images.ts'
import type { RequestContext } from '../../request-context.ts'
import type { Reimage } from '../../sagas/act-plan.ts'
import { imageSource } from '../../volumes/image-source.ts'
import { idleRootVolume } from '../../volumes/reimage-root.ts'
import type { Volume } from '../../volumes/volume.ts'
import { namesVolumes } from '../boot/image-mapping.ts'
import type { ServerRecord } from '../list/server-record.ts'
import type { RebuildRequest } from './rebuild-server.ts'
import { startsFromVolume } from './refuse-action.ts'

const GIB = 2 ** 30

/**
 * The volume from which a server starts that is to be rebuilt; undefined: it has a disk of its own. Throws `invalid` while
 * something is done with one of its volumes, and for a server that has lost the volume with its cell.
 */
export async function rootToRebuild(
  db: Executor,
  server: ServerRecord,
): Promise<Volume | undefined> {
  if (server.cellId !== null) return idleRootVolume(db, server, 'invalid')
  if (!startsFromVolume(server)) return undefined
  throw new Failure(
    'invalid',
    `Cannot 'rebuild' instance ${server.id}, which starts from a volume and is in no cell: delete it, and create a server from another volume.`,
  )
}

interface RootRebuild {
  readonly server: ServerRecord
  readonly request: RebuildRequest
  readonly rootVolume: Volume
}

/**
 * The image of a rebuild of a server that starts from a volume, and what the volume gets; nothing where the request's
 * microversion does not know that, so that the image must be the volume's own. Throws `invalid`, in the words of Nova and
 * Cinder, for an image that the volume cannot have.
 */
export async function imageForRoot(
  images: Images,
  context: RequestContext,
  { server, request, rootVolume }: RootRebuild,
): Promise<{ readonly image: BootImage; readonly reimages: { readonly reimages?: Reimage } }> {
  const { imageRef, reimages, trustedCertificates } = request
  if (trustedCertificates)
    throw new Failure(
      'invalid',
      'Image certificate validation is not supported for volume-backed servers.',
    )
  const { id: volumeId, sizeGb, imageMetadata } = rootVolume
  if (!reimages && imageMetadata?.['image_id'] !== imageRef)
    throw new Failure(
      'invalid',
      `Image ${imageRef} is unacceptable: Unable to rebuild with a different image for a volume-backed server.`,
    )
  const { memoryMb } = server.flavor
  const named = await imageForBoot(images, context, imageRef, { memoryMb, rootGb: 0 })
  refuseSmallVolume(named, sizeGb)
  // Nothing but the volume says how the server starts, and how large its disk is.
  const { kernel: _kernel, ramdisk: _ramdisk, ...image } = { ...named, minDiskGb: 0 }
  if (!reimages) return { image, reimages: {} }
  if (namesVolumes(named))
    throw new Failure(
      'invalid',
      `Image ${named.id} names snapshots of volumes, and has no content that volume ${volumeId} could get: create a server from it.`,
    )
  const { imageMetadata: metadata } = await imageSource(images, context, imageRef, sizeGb)
  return { image, reimages: { reimages: { volumeId, imageMetadata: metadata ?? {} } } }
}

/** Throws `invalid`, in Nova's words. */
function refuseSmallVolume({ minDiskGb }: BootImage, sizeGb: number): void {
  if (minDiskGb <= sizeGb) return
  throw new Failure(
    'invalid',
    'Volume is smaller than the minimum size specified in image metadata. ' +
      `Volume size is ${sizeGb * GIB} bytes, minimum size is ${minDiskGb * GIB} bytes.`,
  )
}
