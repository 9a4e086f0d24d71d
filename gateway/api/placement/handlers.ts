import type { operations } from '#openapi/placement.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAllocationCandidates } from './allocations/list-allocation-candidates.ts'
import { showAllocations } from './allocations/show-allocations.ts'
import { listInventories } from './providers/list-inventories.ts'
import { listProviderAggregates } from './providers/list-provider-aggregates.ts'
import { listProviderAllocations } from './providers/list-provider-allocations.ts'
import { listProviderTraits } from './providers/list-provider-traits.ts'
import { listProviderUsages } from './providers/list-provider-usages.ts'
import { listProviders } from './providers/list-providers.ts'
import { showInventory } from './providers/show-inventory.ts'
import { showProvider } from './providers/show-provider.ts'
import { listResourceClasses } from './resource-classes/list-resource-classes.ts'
import { showResourceClass } from './resource-classes/show-resource-class.ts'
import { checkTrait } from './traits/check-trait.ts'
import { listTraits } from './traits/list-traits.ts'
import { listUsages } from './usages/list-usages.ts'
import { listVersions } from './versions/list-versions.ts'

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
