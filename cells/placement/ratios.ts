import type { Inventory } from '#openapi/wire/host.ts'
import type { CountedResource, Resources } from './resources.ts'

/** How much more than a host has is promised, per class of resource. */
export type AllocationRatios = Readonly<Record<CountedResource, number>>

const NO_OVERCOMMIT: AllocationRatios = { vcpus: 1, memoryMb: 1, diskGb: 1 }

/** Those that apply to a host: of whole machines, and of a quota that another keeps, nothing is promised twice. */
export function ratiosOf(
  inventory: Pick<Inventory, 'isQuota' | 'machines'> | null,
  ratios: AllocationRatios,
): AllocationRatios {
  const isExact = inventory?.isQuota === true || inventory?.machines !== undefined
  return isExact ? NO_OVERCOMMIT : ratios
}

/**
 * The amounts that may be used at most, of custom classes exactly the total: an inventory that shrank below the used
 * amount accepts nothing more.
 */
export function limitsOf(total: Resources, ratios: AllocationRatios): Resources {
  return {
    vcpus: Math.floor(total.vcpus * ratios.vcpus),
    memoryMb: Math.floor(total.memoryMb * ratios.memoryMb),
    diskGb: Math.floor(total.diskGb * ratios.diskGb),
    ...(total.custom && { custom: total.custom }),
  }
}
