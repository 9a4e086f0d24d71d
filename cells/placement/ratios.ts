import type { Inventory } from '#openapi/wire/host.ts'
import type { HostAggregate } from '#openapi/wire/provider.ts'
import type { CountedResource, Resources } from './resources.ts'

/** How much more than a host has is promised, per class of resource. */
export type AllocationRatios = Readonly<Record<CountedResource, number>>

export const NO_OVERCOMMIT: AllocationRatios = { vcpus: 1, memoryMb: 1, diskGb: 1 }

/** The metadata keys of aggregates, as in Nova. */
const KEYS: Readonly<Record<CountedResource, string>> = {
  vcpus: 'cpu_allocation_ratio',
  memoryMb: 'ram_allocation_ratio',
  diskGb: 'disk_allocation_ratio',
}
const NUMBER = /^\d{1,6}(?:\.\d{1,6})?$/

interface Overcommitted {
  readonly inventory: Pick<Inventory, 'isQuota' | 'machines' | 'ratios'> | null
  readonly aggregates: readonly HostAggregate[]
}

/**
 * Those that apply to a host: the smallest of its aggregates, or else its own, or else the cell's. Of whole machines, and of
 * a quota that another keeps, nothing is promised twice.
 */
export function ratiosOf(
  { inventory, aggregates }: Overcommitted,
  ratios: AllocationRatios,
): AllocationRatios {
  if (inventory?.isQuota === true || inventory?.machines !== undefined) return NO_OVERCOMMIT
  const ratioOf = (amount: CountedResource) =>
    smallestOf(aggregates, KEYS[amount]) ?? inventory?.ratios?.[amount] ?? ratios[amount]
  return { vcpus: ratioOf('vcpus'), memoryMb: ratioOf('memoryMb'), diskGb: ratioOf('diskGb') }
}

/** Values that are no positive numbers are ignored: aggregates accept any text, as in Nova. */
function smallestOf(aggregates: readonly HostAggregate[], key: string): number | undefined {
  const found = aggregates.flatMap(({ metadata }) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key]!.trim() : ''
    return NUMBER.test(value) && Number(value) > 0 ? [Number(value)] : []
  })
  return found.length === 0 ? undefined : Math.min(...found)
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
