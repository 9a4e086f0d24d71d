import type { Filter } from '../filter.ts'

export const sameHostFilter: Filter = {
  name: 'SameHostFilter',
  refuse: ({ hostId }, { besideHosts }) =>
    besideHosts === null || besideHosts.has(hostId)
      ? undefined
      : 'has none of the servers it is to be beside',
}

export const differentHostFilter: Filter = {
  name: 'DifferentHostFilter',
  refuse: ({ hostId }, { apartHosts }) =>
    apartHosts.has(hostId) ? 'has a server it is to be apart from' : undefined,
}
