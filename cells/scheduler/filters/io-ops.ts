import type { FilterSettings, HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'
import { smallestOfAggregates } from './aggregate-values.ts'

/** The metadata key of an aggregate, as in Nova. */
const KEY = 'max_io_ops_per_host'

/**
 * Refuses hosts on which as many servers are being built, resized, moved, saved or rebuilt as an operator allows: what
 * their aggregates say, or else the cell's setting. It is both of Nova's IoOpsFilter and AggregateIoOpsFilter.
 */
export const ioOpsFilter: HostFilter = {
  name: 'IoOpsFilter',
  runs: 'named',
  refuse: (host, _request, settings) => {
    const { of, max } = ioOpsAllowed(host, settings)
    return host.ioOps < max
      ? undefined
      : `has ${host.ioOps} servers being built or changed, ${KEY} of ${of} is ${max}`
  },
}

function ioOpsAllowed({ aggregates }: HostState, { maxIoOpsPerHost }: FilterSettings) {
  return smallestOfAggregates(aggregates, KEY) ?? { of: 'the cell', max: maxIoOpsPerHost }
}
