import { Failure, isFailure } from '#common/errors.ts'
import type { Compute } from '../../compute.ts'
import { type BootImage, imageForBoot } from '../../images/image-for-boot.ts'
import type { Images } from '../../images/images.ts'
import type { RequestContext } from '../../request-context.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { newPassword } from './new-password.ts'
import { refuseAction } from './refuse-action.ts'

export interface RescueRequest {
  /** Undefined: a new one is made. */
  readonly password: string | undefined
  /** Undefined: the image the server was made of. */
  readonly imageRef: string | undefined
}

/**
 * Afterwards the server's cell has accepted to boot it from a rescue image. Returns the password of the rescue
 * system. Throws as `actOnServer`, and `invalid` for an image that cannot be used.
 */
export async function rescueServer(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  id: string,
  { password = newPassword(), imageRef }: RescueRequest,
): Promise<string> {
  const server = await showServer(compute.db, context, id)
  refuseAction(server, context, 'rescue')
  const image =
    imageRef === undefined ? null : await rescueImage(images, context, imageRef, server.flavor)
  await actOnServer(compute, context, id, { name: 'rescue', image, password })
  return password
}

async function rescueImage(
  images: Images,
  context: RequestContext,
  imageRef: string,
  flavor: { readonly memoryMb: number },
): Promise<BootImage> {
  try {
    // The rescue disk is a disk of its own, so the flavor's disk does not bound it.
    return await imageForBoot(images, context, imageRef, { ...flavor, rootGb: 0 })
  } catch (error) {
    if (!isFailure(error, 'invalid')) throw error
    const message = `Requested rescue image '${imageRef}' is not supported`
    throw new Failure('invalid', message, { cause: error })
  }
}
