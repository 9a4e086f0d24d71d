import { stepOf } from '#common/hardware-resources.ts'
import { nodeClass, nodeShares } from '#common/numa-providers.ts'
import { offeredInventory } from '#common/reserved.ts'
import type { HostView } from '#openapi/wire/host.ts'
import type { ProvidedInventory } from './provider.ts'

/** Placement's standard trait of the provider of a NUMA node (os-traits, hw/numa). */
export const NODE_TRAIT = 'HW_NUMA_ROOT'

/** What a NUMA node of a host provides. */
export interface ProvidingNode {
  readonly id: number
  readonly inventories: ReadonlyMap<string, ProvidedInventory>
}

const AMOUNT_OF = { VCPU: 'vcpus', MEMORY_MB: 'memoryMb' } as const

/** Those of a host that are providers of their own; empty for another, and while the host has never reported. */
export function providingNodes(view: HostView): readonly ProvidingNode[] {
  const { inventory, settings = null, ratios } = view
  const nodes = inventory === null ? [] : nodeShares(offeredInventory({ inventory, settings }))
  const offered = nodes.map(({ id, shared, exact }) => {
    const several = (['VCPU', 'MEMORY_MB'] as const).map((name) => {
      const { total, reserved } = shared[name]
      const allocationRatio = ratios[AMOUNT_OF[name]]
      const capacity = Math.floor((total - reserved) * allocationRatio)
      const units = { minUnit: 1, maxUnit: total, stepSize: 1 }
      return [name, { total, reserved, allocationRatio, capacity, used: 0, ...units }] as const
    })
    const once = Object.entries(exact).map(([name, total]) => {
      const units = { minUnit: stepOf(name), maxUnit: total, stepSize: stepOf(name) }
      const whole = { total, reserved: 0, allocationRatio: 1, capacity: total, used: 0 }
      return [name, { ...whole, ...units }] as const
    })
    const all = [...several, ...once].filter(([, { total }]) => total > 0)
    return { id, inventories: new Map<string, ProvidedInventory>(all) }
  })
  return withUsage(view, offered)
}

/**
 * A cell chooses the nodes of a server only where that is to be on certain ones. What others take of the host is wherever
 * the nodes have room: each class on the first nodes.
 */
function withUsage({ used }: HostView, nodes: readonly ProvidingNode[]): readonly ProvidingNode[] {
  const names = new Set(nodes.flatMap(({ inventories }) => [...inventories.keys()]))
  const usage = new Map<string, readonly number[]>()
  for (const name of names) {
    const chosen = nodes.map(({ id }) => used.custom?.[nodeClass(id, name)] ?? 0)
    const all =
      name in AMOUNT_OF
        ? used[AMOUNT_OF[name as keyof typeof AMOUNT_OF]]
        : (used.custom?.[name] ?? 0)
    const room = nodes.map(({ inventories }, place) => {
      return (inventories.get(name)?.capacity ?? 0) - chosen[place]!
    })
    const others = spread(
      chosen.reduce((rest, amount) => rest - amount, all),
      room,
    )
    usage.set(
      name,
      chosen.map((amount, place) => amount + others[place]!),
    )
  }
  return nodes.map(({ id, inventories }, place) => {
    const counted = [...inventories].map(([name, inventory]) => {
      return [name, { ...inventory, used: usage.get(name)![place]! }] as const
    })
    return { id, inventories: new Map(counted) }
  })
}

/** The amount over those that have room, the first ones first; what none has room for is on the last. `room` is then less. */
export function spread(amount: number, room: number[]): readonly number[] {
  let rest = Math.max(0, amount)
  return room.map((free, place) => {
    const taken = place === room.length - 1 ? rest : Math.min(rest, Math.max(0, free))
    room[place] = free - taken
    rest -= taken
    return taken
  })
}
