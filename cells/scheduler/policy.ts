import type { Filter, FilterSettings } from './filter.ts'
import type { HostState } from './host-state.ts'
import type { Weigher } from './weigher.ts'

export const SCHEDULING_POLICIES = ['filter', 'chance', 'simple'] as const
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
 * The weighers of a policy: those configured, the least loaded host, or pure chance. Filters run in each, since a
 * host they refuse could not take the server anyway.
 */
export function weighersOf(
  policy: SchedulingPolicy,
  configured: readonly WeightedWeigher[],
  random: () => number,
): readonly WeightedWeigher[] {
  switch (policy) {
    case 'filter':
      return configured
    case 'simple':
      return [{ weigher: { name: 'load', score: (host) => -load(host) }, weight: 1 }]
    case 'chance':
      return [{ weigher: { name: 'chance', score: () => random() }, weight: 1 }]
  }
}
