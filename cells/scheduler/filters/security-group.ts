import type { KindFilter } from '../filter.ts'

export const securityGroupFilter: KindFilter = {
  name: 'SecurityGroupFilter',
  concerns: ({ needsFirewall }) => needsFirewall,
  by: 'kind',
  refuse: ({ filtersPorts }, { needsFirewall }) =>
    needsFirewall && !filtersPorts ? 'does not enforce security groups' : undefined,
}
