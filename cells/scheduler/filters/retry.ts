import type { HostFilter } from '../filter.ts'

export const retryFilter: HostFilter = {
  name: 'RetryFilter',
  concerns: ({ triedHosts }) => triedHosts.size > 0,
  refuse: (host, { triedHosts }) =>
    triedHosts.has(host.hostId) ? 'has failed to build this server' : undefined,
}
