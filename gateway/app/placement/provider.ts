import type { Aggregate } from '../../db/aggregates.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { hypervisorHostname } from '../hosts/hypervisors.ts'
import { reservedOf } from '../hosts/reserved.ts'
import { PROVIDED_CLASSES } from './resource-classes.ts'

/** A host's inventory of one class. */
export interface ProvidedInventory {
  readonly total: number
  /** The part of the total that the host keeps for itself. */
  readonly reserved: number
  readonly allocationRatio: number
  /** The amount that may be used: the rest of the total times the ratio, rounded down. */
  readonly capacity: number
  readonly used: number
}

/** A host as Placement shows it. It has no providers below it and none above. */
export interface Provider {
  readonly id: string
  /** Of the hypervisor. */
  readonly name: string
  readonly host: string
  readonly generation: number
  /** Empty while the host never reported. */
  readonly inventories: ReadonlyMap<string, ProvidedInventory>
  readonly traits: readonly string[]
  readonly aggregates: readonly string[]
}

/** Nova's compute manager keeps this trait on hosts that are disabled, so that nothing is placed on them. */
export const DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED'

/** The host as a provider. Its cell counts as an aggregate: hosts of one cell share a scheduler. */
export function providerOf(host: HostRecord, aggregates: readonly Aggregate[]): Provider {
  const { view, cellId } = host
  const traits = [...(view.inventory?.traits ?? []), ...(view.isDisabled ? [DISABLED_TRAIT] : [])]
  const groups = aggregates.filter(({ hosts }) =>
    hosts.some(({ hostId }) => hostId === view.hostId),
  )
  return {
    id: view.hostId,
    name: hypervisorHostname(host),
    host: view.name,
    generation: view.version,
    inventories: new Map(view.inventory === null ? [] : inventoriesOf(host)),
    traits: traits.toSorted(),
    aggregates: [cellId, ...groups.map(({ uuid }) => uuid)],
  }
}

const AMOUNT_OF = { VCPU: 'vcpus', MEMORY_MB: 'memoryMb', DISK_GB: 'diskGb' } as const

function inventoriesOf({ view }: HostRecord): readonly (readonly [string, ProvidedInventory])[] {
  const { inventory, ratios, used } = view
  const exactly = (name: string, total: number) => {
    const taken = used.custom?.[name] ?? 0
    return [name, { total, reserved: 0, allocationRatio: 1, capacity: total, used: taken }] as const
  }
  if (inventory?.machines !== undefined)
    return inventory.machines.map(({ resourceClass, total }) => exactly(resourceClass, total))
  const further = Object.entries(inventory?.resources ?? {})
  const amounts = PROVIDED_CLASSES.map((name) => {
    const key = AMOUNT_OF[name]
    const total = inventory?.[key] ?? 0
    const allocationRatio = ratios[key]
    const reserved = reservedOf(view)[key]
    const capacity = Math.floor(Math.max(0, total - reserved) * allocationRatio)
    return [name, { total, reserved, allocationRatio, capacity, used: used[key] }] as const
  })
  return [...amounts, ...further.map(([name, total]) => exactly(name, total))].filter(
    ([, { total }]) => total > 0,
  )
}
