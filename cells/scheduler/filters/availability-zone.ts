import type { KindFilter } from '../filter.ts'

export const availabilityZoneFilter: KindFilter = {
  name: 'AvailabilityZoneFilter',
  concerns: ({ zone }) => zone !== null,
  by: 'kind',
  refuse: (host, { zone }) =>
    zone === null || zone === host.zone ? undefined : `is in zone ${host.zone}`,
}
