import type { Filter } from './filter.ts'
import { aggregateExtraSpecsFilter } from './filters/aggregate-extra-specs.ts'
import { aggregateTenancyFilter } from './filters/aggregate-tenancy.ts'
import { aggregateTypeAffinityFilter } from './filters/aggregate-type-affinity.ts'
import { availabilityZoneFilter } from './filters/availability-zone.ts'
import {
  backendInstancesFilter,
  coreFilter,
  diskFilter,
  pciPassthroughFilter,
  ramFilter,
  resourceClassFilter,
} from './filters/capacity.ts'
import { simpleCidrAffinityFilter } from './filters/cidr-affinity.ts'
import { computeFilter } from './filters/compute.ts'
import { computeCapabilitiesFilter } from './filters/compute-capabilities.ts'
import { extraSpecsFilter } from './filters/extra-specs.ts'
import { imagePropertiesFilter } from './filters/image-properties.ts'
import { ioOpsFilter } from './filters/io-ops.ts'
import { aggregateImagePropertiesIsolation, isolatedHostsFilter } from './filters/isolation.ts'
import { jsonFilter } from './filters/json-query.ts'
import { metricsFilter } from './filters/metrics.ts'
import { differentHostFilter, sameHostFilter } from './filters/neighbour.ts'
import { numInstancesFilter } from './filters/num-instances.ts'
import { numaTopologyFilter } from './filters/numa-topology.ts'
import { physicalNetworkFilter } from './filters/physical-network.ts'
import { requestedHostFilter } from './filters/requested-host.ts'
import { retryFilter } from './filters/retry.ts'
import { securityGroupFilter } from './filters/security-group.ts'
import { affinityFilter, antiAffinityFilter } from './filters/server-group.ts'
import { storeFilter } from './filters/store.ts'
import { traitsFilter } from './filters/traits.ts'

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
  storeFilter,
  ramFilter,
  coreFilter,
  diskFilter,
  resourceClassFilter,
  pciPassthroughFilter,
  numaTopologyFilter,
  backendInstancesFilter,
  numInstancesFilter,
  ioOpsFilter,
  metricsFilter,
  imagePropertiesFilter,
  traitsFilter,
  extraSpecsFilter,
  computeCapabilitiesFilter,
  securityGroupFilter,
  physicalNetworkFilter,
  jsonFilter,
  simpleCidrAffinityFilter,
  isolatedHostsFilter,
  aggregateExtraSpecsFilter,
  aggregateTenancyFilter,
  aggregateTypeAffinityFilter,
  aggregateImagePropertiesIsolation,
]

/** Nova's names of filters that are others here, which always heed what aggregates say; of one that refuses no host, none. */
export const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  AggregateRamFilter: ['RamFilter'],
  AggregateCoreFilter: ['CoreFilter'],
  AggregateDiskFilter: ['DiskFilter'],
  AggregateNumInstancesFilter: ['NumInstancesFilter'],
  AggregateIoOpsFilter: ['IoOpsFilter'],
  AllHostsFilter: [],
}

/** The names of those that run unless configured otherwise. */
export const DEFAULT_FILTERS: readonly string[] = FILTERS.filter(
  ({ runs }) => runs !== 'named',
).map(({ name }) => name)
