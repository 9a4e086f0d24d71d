import type { HostFilter } from '../filter.ts'

export const storeFilter: HostFilter = {
  name: 'StoreFilter',
  concerns: ({ storeHosts }) => storeHosts !== null,
  refuse: ({ hostId }, { storeHosts }) =>
    storeHosts === null || storeHosts.has(hostId)
      ? undefined
      : 'does not reach the stores of the volumes, or the cell does not have these',
}
