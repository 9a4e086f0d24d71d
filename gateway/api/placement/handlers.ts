import type { operations } from '#openapi/placement.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAllocationCandidates, showAllocations } from './allocations.ts'
import {
  listInventories,
  showInventory,
  updateInventories,
  updateInventory,
} from './inventories.ts'
import {
  deleteProviderTraits,
  listProviderAggregates,
  listProviderAllocations,
  listProviders,
  listProviderTraits,
  listProviderUsages,
  setProviderAggregates,
  setProviderTraits,
  showProvider,
} from './providers.ts'
import { listResourceClasses, showResourceClass } from './resource-classes.ts'
import { checkTrait, createTrait, deleteTrait, listTraits } from './traits.ts'
import { listUsages } from './usages.ts'
import { listVersions } from './versions.ts'

/** A handler for every operation of openapi/placement.yaml. */
export const placementHandlers: HandlerTable<operations> = {
  checkTrait,
  createTrait,
  deleteProviderTraits,
  deleteTrait,
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
  setProviderAggregates,
  setProviderTraits,
  showAllocations,
  showInventory,
  showProvider,
  showResourceClass,
  updateInventories,
  updateInventory,
}
