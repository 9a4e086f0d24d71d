import type { FilterSettings, HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import { smallestOfAggregates } from './aggregate-values.ts'

/** The metadata key of an aggregate, as in Nova. */
const KEY = 'max_instances_per_host'

/**
 * Refuses hosts that have as many instances as an operator allows: what their aggregates say, or else the cell's
 * setting. It is both of Nova's NumInstancesFilter and AggregateNumInstancesFilter.
 */
export const numInstancesFilter: HostFilter = {
  name: 'NumInstancesFilter',
  runs: 'named',
  instancesMax: (host, settings) => instancesAllowed(host, settings).max,
  refuse: (host, _request, settings) => {
    const { of, max } = instancesAllowed(host, settings)
    return host.instances < max
      ? undefined
      : `has ${host.instances} instances, ${KEY} of ${of} is ${max}`
  },
}

/** The smallest limit among the host's aggregates, or else the cell's limit, and which of them set it. */
export function instancesAllowed(
  { aggregates }: HostState,
  { maxInstancesPerHost }: FilterSettings,
): { readonly of: string; readonly max: number } {
  return smallestOfAggregates(aggregates, KEY) ?? { of: 'the cell', max: maxInstancesPerHost }
}
