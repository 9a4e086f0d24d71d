import { isAllowed } from '../app/policy.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { Flavor } from '../db/flavors.ts'
import type { Links } from '../http/links.ts'
import { resourceLinks } from './links.ts'
import { isSince } from './since.ts'

/** A flavor as lists name it, at its widest. */
export function flavorSummary({ id, name, description }: Flavor, links: Links) {
  return { id, name, description, links: resourceLinks(links, `/flavors/${id}`) }
}

/** A flavor at its widest. Extra specs are left out where the caller's rules hide them. */
export function flavorView(flavor: Flavor, context: RequestContext, links: Links) {
  const showsExtraSpecs = isAllowed(context, 'os_compute_api:os-flavor-extra-specs:index')
  return {
    ...flavorSummary(flavor, links),
    ram: flavor.memoryMb,
    vcpus: flavor.vcpus,
    disk: flavor.rootGb,
    swap: flavor.swapMb === 0 && !isSince(context, '2.75') ? '' : flavor.swapMb,
    'OS-FLV-EXT-DATA:ephemeral': flavor.ephemeralGb,
    'OS-FLV-DISABLED:disabled': flavor.isDisabled,
    rxtx_factor: flavor.rxtxFactor,
    'os-flavor-access:is_public': flavor.isPublic,
    ...(showsExtraSpecs && { extra_specs: flavor.extraSpecs }),
  }
}
