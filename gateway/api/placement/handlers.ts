import type { operations } from '#openapi/placement.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAllocationCandidates, showAllocations } from './allocations.ts'
import {
  listInventories,
  listProviderAggregates,
  listProviderAllocations,
  listProviders,
  listProviderTraits,
  listProviderUsages,
  showInventory,
  showProvider,
} from './providers.ts'
import { listResourceClasses, showResourceClass } from './resource-classes.ts'
import { checkTrait, listTraits } from './traits.ts'
import { listUsages } from './usages.ts'
import { listVersions } from './versions.ts'

/** A handler for every operation of openapi/placement.yaml. */
export const placementHandlers: HandlerTable<operations> = {
  checkTrait,
  listAllocationCandidates,
  listInventories,
  listProviderAggregates,
  listProviderAllocations,
  listProviderTraits,
  listProviderUsages,
  listProviders,
  listResourceClasses,
  listTraits,
  listUsages,
  listVersions,
  showAllocations,
  showInventory,
  showProvider,
  showResourceClass,
}
