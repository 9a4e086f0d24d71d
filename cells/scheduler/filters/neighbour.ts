import type { Filter } from '../filter.ts'

export const sameHostFilter: Filter = {
  name: 'SameHostFilter',
  refuse: ({ hostId }, { sameHosts }) =>
    sameHosts === null || sameHosts.has(hostId)
      ? undefined
      : 'has none of the servers it is to be beside',
}

export const differentHostFilter: Filter = {
  name: 'DifferentHostFilter',
  refuse: ({ hostId }, { differentHosts }) =>
    differentHosts.has(hostId) ? 'has a server it is to be apart from' : undefined,
}
