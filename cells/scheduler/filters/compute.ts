import type { Filter } from '../filter.ts'

export const computeFilter: Filter = {
  name: 'ComputeFilter',
  refuse: ({ isUp, isDisabled }) => {
    if (isDisabled) return 'is disabled'
    return isUp ? undefined : 'is down'
  },
}
