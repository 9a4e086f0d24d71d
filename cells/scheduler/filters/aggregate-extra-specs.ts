import { AGGREGATES, isOfAggregates } from '#common/extra-spec-scopes.ts'
import type { KindFilter } from '../filter.ts'
import { matchesSpec } from '../match-spec.ts'
import { aggregateValues } from './aggregate-values.ts'

/** Extra specs without scope are not looked at: they speak of the host's own abilities. */
export const aggregateExtraSpecsFilter: KindFilter = {
  name: 'AggregateInstanceExtraSpecsFilter',
  concerns: ({ extraSpecs }) => Object.keys(extraSpecs).some(isOfAggregates),
  by: 'kind',
  runs: 'usual',
  refuse: ({ aggregates }, { extraSpecs }) => {
    for (const [name, wanted] of Object.entries(extraSpecs)) {
      if (!isOfAggregates(name)) continue
      const key = name.slice(AGGREGATES.length)
      const values = aggregateValues(aggregates, key)
      if (!values.some((value) => matchesSpec(value, wanted)))
        return `is in no aggregate where ${key} is ${wanted}`
    }
    return undefined
  },
}
