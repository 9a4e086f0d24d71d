import type { HostAggregate } from '#openapi/wire/provider.ts'
import type { KindFilter } from '../filter.ts'
import { aggregateValues } from './aggregate-values.ts'

/** A key may end in anything, so that one aggregate can name more projects than a value holds. */
const KEY = 'filter_tenant_id'

export const aggregateTenancyFilter: KindFilter = {
  name: 'AggregateMultiTenancyIsolation',
  by: 'kind',
  runs: 'usual',
  refuse: ({ aggregates }, { projectId }) => {
    const projects = tenants(aggregates)
    return projects.length === 0 || projects.includes(projectId)
      ? undefined
      : 'is kept for other projects'
  },
}

function tenants(aggregates: readonly HostAggregate[]): readonly string[] {
  const keys = aggregates.flatMap(({ metadata }) => Object.keys(metadata))
  return [...new Set(keys)]
    .filter((key) => key.startsWith(KEY))
    .flatMap((key) => aggregateValues(aggregates, key))
}
