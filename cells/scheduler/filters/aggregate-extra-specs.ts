import type { KindFilter } from '../filter.ts'
import { matchesSpec } from '../match-spec.ts'
import { aggregateValues } from './aggregate-values.ts'

/** Only this scope is looked at: extra specs without scope speak of the host's own abilities. */
const SCOPE = 'aggregate_instance_extra_specs:'

export const aggregateExtraSpecsFilter: KindFilter = {
  name: 'AggregateInstanceExtraSpecsFilter',
  concerns: ({ extraSpecs }) => Object.keys(extraSpecs).length > 0,
  by: 'kind',
  refuse: ({ aggregates }, { extraSpecs }) => {
    for (const [name, wanted] of Object.entries(extraSpecs)) {
      if (!name.startsWith(SCOPE)) continue
      const key = name.slice(SCOPE.length)
      const values = aggregateValues(aggregates, key)
      if (!values.some((value) => matchesSpec(value, wanted)))
        return `is in no aggregate where ${key} is ${wanted}`
    }
    return undefined
  },
}
