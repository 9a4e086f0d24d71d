import { Failure } from '#common/errors.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { findRequestSpec } from '../../../db/request-specs.ts'
import type { Compute } from '../../compute.ts'
import { flavorForBoot } from '../../flavors/flavors.ts'
import type { RequestContext } from '../../request-context.ts'
import type { BuildSpec } from '../boot/build-spec.ts'
import { refuseImageAgainstFlavor } from '../boot/refuse-image-against-flavor.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction, startsFromVolume } from './refuse-action.ts'

const GIB = 2 ** 30

export interface ResizeRequest {
  readonly flavorRef: string
  readonly diskConfig: 'AUTO' | 'MANUAL'
}

/**
 * Afterwards the server's cell has accepted to give it the flavor, on the host it is on, or has found no room for it.
 * Throws as `actOnServer`; `invalid` for a flavor it cannot have; `over-quota`.
 */
export async function resizeServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { flavorRef, diskConfig }: ResizeRequest,
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  refuseAction(server, context, 'resize')
  const flavor = await flavorForBoot(compute.db, context, flavorRef)
  if (flavor.id === server.flavor.id)
    throw new Failure('invalid', 'When resizing, instances must change flavor!')
  const hasOwnDisk = !startsFromVolume(server)
  if (hasOwnDisk && flavor.rootGb === 0 && server.flavor.rootGb > 0)
    throw new Failure('invalid', 'Resize to zero disk flavor is not allowed.')
  const request = await findRequestSpec(compute.db, server.id)
  if (request !== undefined) refuseFlavorForImage(request.spec.image, flavor, hasOwnDisk)
  const plan = { kind: 'resize', flavor, previous: server.flavor, diskConfig } as const
  await actOnServer(compute, context, id, { name: 'resize', plan })
}

/**
 * The image the server was built from is held against the flavor as at a boot (nova: `_validate_flavor_image`); its size
 * only if the server's disk is made from it.
 */
function refuseFlavorForImage(
  image: BuildSpec['image'],
  flavor: Pick<FlavorSnapshot, 'memoryMb' | 'rootGb' | 'extraSpecs'>,
  hasOwnDisk: boolean,
): void {
  if (flavor.memoryMb < image.minRamMb)
    throw new Failure('invalid', "Flavor's memory is too small for requested image.")
  if (hasOwnDisk && flavor.rootGb > 0 && flavor.rootGb < image.minDiskGb)
    throw new Failure(
      'invalid',
      `Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is ${flavor.rootGb * GIB} bytes, minimum size is ${image.minDiskGb * GIB} bytes.`,
    )
  refuseImageAgainstFlavor(image, flavor)
}
