import type { HostFilter } from '../filter.ts'

export const requestedHostFilter: HostFilter = {
  name: 'RequestedHostFilter',
  concerns: ({ requestedHost }) => requestedHost !== null,
  refuse: (host, { requestedHost }) =>
    requestedHost === null || requestedHost === host.name ? undefined : 'is not the host asked for',
}
