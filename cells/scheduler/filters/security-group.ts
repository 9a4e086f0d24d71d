import type { Filter } from '../filter.ts'

export const securityGroupFilter: Filter = {
  name: 'SecurityGroupFilter',
  refuse: ({ filtersPorts }, { needsFirewall }) =>
    needsFirewall && !filtersPorts ? 'does not enforce security groups' : undefined,
}
