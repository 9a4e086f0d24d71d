import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { findFlavor } from '../../db/flavors.ts'
import { type FlavorViewer, sightOf } from './show-flavor.ts'

/**
 * The flavor as it is now, for a server of this caller. Throws `invalid` where the flavor is unknown, disabled, or
 * private and not for the caller to see: on a boot Nova answers 400, not 404 (nova/api/openstack/compute/servers.py).
 */
export async function flavorForBoot(
  db: Executor,
  caller: FlavorViewer,
  flavorRef: string,
): Promise<FlavorSnapshot> {
  // Clients give an id, or a link to a flavor.
  const id = flavorRef.slice(flavorRef.lastIndexOf('/') + 1)
  const flavor = await findFlavor(db, id, sightOf(caller))
  if (flavor === undefined || flavor.isDisabled)
    throw new Failure('invalid', `Flavor ${id} could not be found.`)
  const { name, vcpus, memoryMb, rootGb, ephemeralGb, swapMb, extraSpecs } = flavor
  return { id, name, vcpus, memoryMb, rootGb, ephemeralGb, swapMb, extraSpecs }
}
