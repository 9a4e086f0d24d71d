import type { Filter } from '../filter.ts'

export const securityGroupFilter: Filter = {
  name: 'SecurityGroupFilter',
  refuse: ({ filtersPorts }, { needsFirewall }) =>
    needsFirewall && !filtersPorts ? 'gives no effect to security groups' : undefined,
}
