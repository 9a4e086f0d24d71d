import type { CountedResource, Resources } from './resources.ts'

/** How much more than a host has is promised, per class of resource. */
export type AllocationRatios = Readonly<Record<CountedResource, number>>

/** What may be in use at most, of custom classes exactly what there is: an inventory that shrank below what is used accepts nothing more. */
export function limitsOf(total: Resources, ratios: AllocationRatios): Resources {
  return {
    vcpus: Math.floor(total.vcpus * ratios.vcpus),
    memoryMb: Math.floor(total.memoryMb * ratios.memoryMb),
    diskGb: Math.floor(total.diskGb * ratios.diskGb),
    ...(total.custom && { custom: total.custom }),
  }
}
