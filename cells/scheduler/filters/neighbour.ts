import type { HostFilter } from '../filter.ts'

export const sameHostFilter: HostFilter = {
  name: 'SameHostFilter',
  runs: 'usual',
  concerns: ({ sameHosts }) => sameHosts !== null,
  refuse: ({ hostId }, { sameHosts }) =>
    sameHosts === null || sameHosts.has(hostId)
      ? undefined
      : 'has none of the servers it is to be beside',
}

export const differentHostFilter: HostFilter = {
  name: 'DifferentHostFilter',
  runs: 'usual',
  concerns: ({ differentHosts }) => differentHosts.size > 0,
  refuse: ({ hostId }, { differentHosts }) =>
    differentHosts.has(hostId) ? 'has a server it is to be apart from' : undefined,
}
