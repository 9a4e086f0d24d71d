import { Failure, isFailure } from '#common/errors.ts'
import type { Compute } from '../../compute.ts'
import { type BootImage, imageForBoot } from '../../images/image-for-boot.ts'
import type { Images } from '../../images/images.ts'
import type { RequestContext } from '../../request-context.ts'
import { idleRootVolume } from '../../volumes/reimage-root.ts'
import { namesVolumes } from '../boot/image-mapping.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { newPassword } from './new-password.ts'
import { refuseAction } from './refuse-action.ts'

export interface RescueRequest {
  /** Undefined: a new one is made. */
  readonly password: string | undefined
  /** Undefined: the image the server was made of. */
  readonly imageRef: string | undefined
  /** The request's microversion knows rescues of servers that start from a volume. */
  readonly knowsRootVolumes: boolean
}

/**
 * Afterwards the server's cell has accepted to boot it from a rescue image. Returns the password of the rescue
 * system. Throws as `actOnServer`; `invalid` for an image that cannot be used, and for a server that starts from a volume
 * where the microversion or the image does not allow that; `conflict` while something is done with one of its volumes.
 */
export async function rescueServer(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  id: string,
  { password = newPassword(), imageRef, knowsRootVolumes }: RescueRequest,
): Promise<string> {
  const server = await showServer(compute.db, context, id)
  refuseAction(server, context, 'rescue')
  const root = await idleRootVolume(compute.db, server, 'conflict')
  // A server that starts from a volume has no image but that of the volume.
  const ref = imageRef ?? (knowsRootVolumes ? root?.imageMetadata?.['image_id'] : undefined)
  const image = ref === undefined ? null : await rescueImage(images, context, ref, server.flavor)
  if (root !== undefined && !(knowsRootVolumes && namesDevice(image)))
    throw new Failure(
      'invalid',
      `Instance ${server.id} cannot be rescued: Cannot rescue a volume-backed instance`,
    )
  await actOnServer(compute, context, id, { name: 'rescue', image, password })
  return password
}

/** Nova asks for both, so that the server's own disks keep their order. */
function namesDevice(image: BootImage | null): boolean {
  const { properties = {} } = image ?? {}
  return 'hw_rescue_device' in properties && 'hw_rescue_bus' in properties
}

async function rescueImage(
  images: Images,
  context: RequestContext,
  imageRef: string,
  flavor: { readonly memoryMb: number },
): Promise<BootImage> {
  try {
    // The rescue disk is a disk of its own, so the flavor's disk does not bound it.
    const image = await imageForBoot(images, context, imageRef, { ...flavor, rootGb: 0 })
    // Such an image has no content: it names snapshots of volumes.
    if (namesVolumes(image)) throw new Failure('invalid', `Image ${image.id} names snapshots.`)
    return image
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    const message = `Requested rescue image '${imageRef}' is not supported`
    throw new Failure('invalid', message, { cause: error })
  }
}
