import type { ProvidedInventory, Provider } from '../../app/placement/provider.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { isSince } from '../since.ts'

/** The links of a provider, with the microversion since which they exist. */
const LINKS = [
  ['self', '', '1.0'],
  ['aggregates', '/aggregates', '1.1'],
  ['inventories', '/inventories', '1.0'],
  ['usages', '/usages', '1.0'],
  ['traits', '/traits', '1.6'],
  ['allocations', '/allocations', '1.11'],
] as const

export function providerView(provider: Provider, context: RequestContext) {
  const { id, name, generation, parentId, rootId } = provider
  const links = LINKS.filter(([, , since]) => isSince(context, since))
  return {
    uuid: id,
    name,
    generation,
    parent_provider_uuid: parentId,
    root_provider_uuid: rootId,
    links: links.map(([rel, path]) => ({
      rel,
      href: `/placement/resource_providers/${id}${path}`,
    })),
  }
}

export function inventoryView(inventory: ProvidedInventory) {
  const { total, reserved, allocationRatio, minUnit, maxUnit, stepSize } = inventory
  return {
    total,
    reserved,
    min_unit: minUnit,
    max_unit: maxUnit,
    step_size: stepSize,
    allocation_ratio: allocationRatio,
  }
}

/** By class. */
export function inventoriesView({ inventories }: Provider) {
  return Object.fromEntries([...inventories].map(([name, of]) => [name, inventoryView(of)]))
}

/** By class. */
export function usagesView({ inventories }: Provider): Readonly<Record<string, number>> {
  return Object.fromEntries([...inventories].map(([name, { used }]) => [name, used]))
}
