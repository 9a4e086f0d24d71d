import type { KindFilter } from '../filter.ts'

export const computeFilter: KindFilter = {
  name: 'ComputeFilter',
  by: 'kind',
  refuse: ({ isUp, isDisabled }) => {
    if (isDisabled) return 'is disabled'
    return isUp ? undefined : 'is down'
  },
}
