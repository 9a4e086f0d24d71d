import type { KindFilter } from '../filter.ts'
import { aggregateValues } from './aggregate-values.ts'

const KEY = 'instance_type'

/** Refuses hosts whose aggregates name flavors, but not that of the server. */
export const aggregateTypeAffinityFilter: KindFilter = {
  name: 'AggregateTypeAffinityFilter',
  by: 'kind',
  runs: 'named',
  refuse: ({ aggregates }, { flavorName }) => {
    const flavors = aggregateValues(aggregates, KEY)
    return flavors.length === 0 || flavors.includes(flavorName)
      ? undefined
      : `is in aggregates for the flavors ${flavors.join(', ')}`
  },
}
