import type { Filter } from '../filter.ts'

export const requestedHostFilter: Filter = {
  name: 'RequestedHostFilter',
  refuse: (host, { requestedHost }) =>
    requestedHost === null || requestedHost === host.name ? undefined : 'is not the host asked for',
}
