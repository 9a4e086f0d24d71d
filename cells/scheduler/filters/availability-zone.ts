import type { Filter } from '../filter.ts'

export const availabilityZoneFilter: Filter = {
  name: 'AvailabilityZoneFilter',
  refuse: (host, { zone }) =>
    zone === null || zone === host.zone ? undefined : `is in zone ${host.zone}`,
}
