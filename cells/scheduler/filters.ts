import type { Filter } from './filter.ts'
import { aggregateExtraSpecsFilter } from './filters/aggregate-extra-specs.ts'
import { aggregateTenancyFilter } from './filters/aggregate-tenancy.ts'
import { availabilityZoneFilter } from './filters/availability-zone.ts'
import {
  coreFilter,
  diskFilter,
  numInstancesFilter,
  ramFilter,
  resourceClassFilter,
} from './filters/capacity.ts'
import { computeFilter } from './filters/compute.ts'
import { imagePropertiesFilter } from './filters/image-properties.ts'
import { differentHostFilter, sameHostFilter } from './filters/neighbour.ts'
import { requestedHostFilter } from './filters/requested-host.ts'
import { retryFilter } from './filters/retry.ts'
import { securityGroupFilter } from './filters/security-group.ts'
import { affinityFilter, antiAffinityFilter } from './filters/server-group.ts'

/** Every filter there is, in the order they run unless configured otherwise: cheap ones first. */
export const FILTERS: readonly Filter[] = [
  retryFilter,
  requestedHostFilter,
  availabilityZoneFilter,
  computeFilter,
  affinityFilter,
  antiAffinityFilter,
  sameHostFilter,
  differentHostFilter,
  ramFilter,
  coreFilter,
  diskFilter,
  resourceClassFilter,
  numInstancesFilter,
  imagePropertiesFilter,
  securityGroupFilter,
  aggregateExtraSpecsFilter,
  aggregateTenancyFilter,
]
