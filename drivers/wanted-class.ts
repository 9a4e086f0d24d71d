import { Failure } from '#common/errors.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { FlavorSpec } from './driver.ts'

/**
 * The class of machine that a flavor asks for, such as `resources:CUSTOM_GOLD=1` (Nova's "Create flavors for use with
 * the Bare Metal service"). Throws `invalid` for one that asks for none, or for more than one machine.
 */
export function wantedClass(flavor: FlavorSpec): string {
  const wanted = Object.entries(flavorResources(flavor).custom ?? {})
  const [first] = wanted
  if (first !== undefined && wanted.length === 1 && first[1] === 1) return first[0]
  throw new Failure(
    'invalid',
    `Flavor ${flavor.name} must ask for one machine, such as by the extra spec resources:CUSTOM_GOLD=1.`,
  )
}
