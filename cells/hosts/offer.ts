import type { Tx } from '#common/db/database.ts'
import { nodeClass, nodeShares } from '#common/numa-providers.ts'
import { offeredInventory } from '#common/reserved.ts'
import type { Inventory } from '#openapi/wire/host.ts'
import type { CountedNode } from '../placement/choose-nodes.ts'
import { putInventory } from '../placement/inventory.ts'
import { type AllocationRatios, limitsOf, NO_OVERCOMMIT, ratiosOf } from '../placement/ratios.ts'
import { type CountedResource, combineResources, type Resources } from '../placement/resources.ts'
import type { Host, Provider } from './host.ts'

const NONE: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** A host as far as it decides what it offers. */
type Offering = Pick<Host, 'inventory' | 'aggregates' | 'settings'>

/**
 * The provider as the host's inventory, aggregates and settings make it: of a new generation exactly when what it offers has
 * changed; null while it never reported.
 */
export function providerAfter(
  before: Provider | null,
  host: Offering,
  ratios: AllocationRatios,
): Provider | null {
  const limits = limitsNow(host, ratios)
  if (limits === null) return null
  if (before === null) return { generation: 1, limits, used: NONE, instances: 0 }
  return isSame(limits, before.limits)
    ? before
    : { ...before, limits, generation: before.generation + 1 }
}

/** Afterwards the host's provider offers what its inventory, aggregates and settings make of it. */
export async function putOffer(tx: Tx, host: Host, ratios: AllocationRatios): Promise<void> {
  const { id: provider, name } = host
  const total = limitsNow(host, ratios)
  if (total === null) return
  await putInventory(tx, { provider, name, total, ratios: NO_OVERCOMMIT })
}

function limitsNow(host: Offering, ratios: AllocationRatios): Resources | null {
  const { inventory, settings } = host
  if (inventory === null) return null
  return offerOf(offeredInventory({ inventory, settings }), ratiosOf(host, ratios))
}

/** The most that claims may take, of the host and of those of its NUMA nodes that are providers of their own. */
export function offerOf(inventory: Inventory, ratios: AllocationRatios): Resources {
  const limits = limitsOf(totalOf(inventory), ratios)
  const nodes = nodeShares(inventory).map(({ id, shared: { VCPU, MEMORY_MB }, exact }) => {
    const vcpus = Math.floor((VCPU.total - VCPU.reserved) * ratios.vcpus)
    const memoryMb = Math.floor((MEMORY_MB.total - MEMORY_MB.reserved) * ratios.memoryMb)
    return { id, vcpus, memoryMb, exact }
  })
  if (nodes.length === 0) return limits
  const ofNodes = nodes.flatMap(({ id, vcpus, memoryMb, exact }) =>
    Object.entries({ VCPU: vcpus, MEMORY_MB: memoryMb, ...exact }).map(
      ([name, amount]) => [nodeClass(id, name), amount] as const,
    ),
  )
  return {
    ...limits,
    // Whole units of each node: a fraction of one node and of another do not make a unit of any.
    vcpus: nodes.reduce((sum, node) => sum + node.vcpus, 0),
    memoryMb: nodes.reduce((sum, node) => sum + node.memoryMb, 0),
    custom: { ...limits.custom, ...Object.fromEntries(ofNodes) },
  }
}

/** The most of each that one server gets of the host: what it has, with what it keeps for itself, as Nova reports it. */
export function maxUnitsOf(inventory: Inventory): Readonly<Record<CountedResource, number>> {
  const { vcpus, memoryMb, diskGb } = inventory
  return { vcpus, memoryMb, diskGb }
}

/** Its NUMA nodes that are providers of their own. */
export function countedNodesOf(inventory: Inventory): readonly CountedNode[] {
  return nodeShares(inventory).map(({ id, shared: { VCPU, MEMORY_MB } }) => ({
    id,
    maxUnits: { VCPU: VCPU.total, MEMORY_MB: MEMORY_MB.total },
  }))
}

function isSame(a: Resources, b: Resources): boolean {
  const { custom = {}, ...differences } = combineResources(a, b, (x, y) => x - y)
  return [...Object.values(differences), ...Object.values(custom)].every((by) => by === 0)
}

/** The amounts that can be claimed: those that the host does not keep for itself; for whole machines, only the machines. */
function totalOf(inventory: Inventory): Resources {
  const { vcpus, memoryMb, diskGb, reserved = NONE, machines, resources } = inventory
  if (machines === undefined)
    return {
      vcpus: Math.max(0, vcpus - reserved.vcpus),
      memoryMb: Math.max(0, memoryMb - reserved.memoryMb),
      diskGb: Math.max(0, diskGb - reserved.diskGb),
      ...(resources && { custom: resources }),
    }
  const custom = machines.map(({ resourceClass, total }) => [resourceClass, total] as const)
  return { ...NONE, custom: Object.fromEntries(custom) }
}
