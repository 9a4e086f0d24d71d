import type { Filter, FilterSettings } from './filter.ts'
import type { HostState } from './host-state.ts'
import { columnOf, type Weigher, type WeigherSettings } from './weigher.ts'

export const SCHEDULING_POLICIES = ['filter', 'chance', 'simple', 'zone'] as const
export type SchedulingPolicy = (typeof SCHEDULING_POLICIES)[number]

export interface WeightedWeigher {
  readonly weigher: Weigher
  /** Negative: the less the better. */
  readonly weight: number
}

/** How hosts are chosen: which may, and who comes first among them. */
export interface Scheduling {
  readonly filters: readonly Filter[]
  readonly filterSettings: FilterSettings
  readonly weighers: readonly WeightedWeigher[]
  readonly weigherSettings: WeigherSettings
}

/** The share of the busiest resource that is in use. */
function load({ limits, used }: HostState): number {
  const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole)
  return Math.max(
    share(used.vcpus, limits.vcpus),
    share(used.memoryMb, limits.memoryMb),
    share(used.diskGb, limits.diskGb),
  )
}

/**
 * The weighers of a policy: those configured, the least loaded host, pure chance, or the zone with the fewest instances
 * and in it the least loaded host. Filters run in each, since a host they refuse could not take the server anyway.
 */
export function weighersOf(
  policy: SchedulingPolicy,
  configured: readonly WeightedWeigher[],
  random: () => number,
): readonly WeightedWeigher[] {
  const simple = { weigher: LEAST_LOADED, weight: 1 }
  switch (policy) {
    case 'filter':
      return configured
    case 'simple':
      return [simple]
    case 'zone':
      return [{ weigher: EMPTIEST_ZONE, weight: ZONE_WEIGHT }, simple]
    case 'chance':
      return [
        { weigher: { name: 'chance', column: (table) => columnOf(table, random) }, weight: 1 },
      ]
  }
}

/** More than any load counts, for any two zones that differ by an instance in a million. */
const ZONE_WEIGHT = 1_000_000

const LEAST_LOADED: Weigher = {
  name: 'load',
  column: (table) => columnOf(table, (host) => -load(host)),
}

const EMPTIEST_ZONE: Weigher = {
  name: 'zone',
  column: (table) => {
    const instances = new Map<string, number>()
    for (const host of table.states)
      instances.set(host.zone, (instances.get(host.zone) ?? 0) + host.instances)
    return columnOf(table, ({ zone }) => -instances.get(zone)!)
  },
}
