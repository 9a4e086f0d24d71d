import type { Filter } from '../filter.ts'

export const retryFilter: Filter = {
  name: 'RetryFilter',
  refuse: (host, { triedHosts }) =>
    triedHosts.has(host.hostId) ? 'has failed to build this server' : undefined,
}
