import { DEDICATED_CPUS, isLargePages } from '#common/hardware-resources.ts'
import { nodesFor } from '#common/numa.ts'
import { divide, nodeClass, readNodeClass } from '#common/numa-providers.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import type { NodeAmounts, NodePart, NodeWish } from './node-wish.ts'
import { addResources, type Resources } from './resources.ts'

/** A NUMA node of which claims count what it has. */
export interface CountedNode {
  readonly id: number
  /** The most that one server gets, of classes that may be promised several times: what the node has. */
  readonly maxUnits: NodeAmounts
}

interface NodeRoom {
  readonly free: NodeAmounts
  readonly maxUnits: NodeAmounts
}

/** What each NUMA node of a host has for one more server, by its number. */
export type FreeOfNodes = ReadonlyMap<number, NodeRoom>

interface Counted {
  readonly limits: Pick<Resources, 'custom'>
  readonly used: Pick<Resources, 'custom'>
}

/** Of the nodes that a host offers as providers; `limits` and `used` as claims count. */
export function freeOfNodes(nodes: readonly CountedNode[], { limits, used }: Counted): FreeOfNodes {
  const rooms = new Map(
    nodes.map(({ id, maxUnits }) => [id, { free: {} as Record<string, number>, maxUnits }]),
  )
  for (const [name, limit] of Object.entries(limits.custom ?? {})) {
    const of = readNodeClass(name)
    const room = of && rooms.get(of.node)
    if (of !== undefined && room !== undefined)
      room.free[of.resourceClass] = limit - (used.custom?.[name] ?? 0)
  }
  return rooms
}

/**
 * A node for each part, the fullest first where several have room, so that others stay whole for larger servers, as Nova
 * packs them (`packing_host_numa_cells_allocation_strategy`); undefined when there are none.
 */
export function chooseNodes(wish: NodeWish, free: FreeOfNodes): NumaAllocation | undefined {
  const { parts, isDivisible } = wish
  const [first] = parts
  const nodes = fullestFirst(free, first?.amounts ?? {})
  const hasRoom = (node: number, { amounts }: NodePart) => {
    const room = free.get(node)!
    return fits(amounts, room.free) && isInUnits(amounts, room.maxUnits)
  }
  const found = nodesFor(parts, nodes, hasRoom)
  if (found !== undefined) return allocationOf(parts, found)
  return isDivisible && first !== undefined ? divided(first, nodes.toReversed(), free) : undefined
}

function fits(amounts: NodeAmounts, free: NodeAmounts): boolean {
  return Object.entries(amounts).every(([name, amount]) => amount <= (free[name] ?? 0))
}

function isInUnits(amounts: NodeAmounts, maxUnits: NodeAmounts): boolean {
  return Object.entries(maxUnits).every(([name, most]) => (amounts[name] ?? 0) <= most)
}

/** By what they have left of what is asked for, class by class; nodes that are alike in the order of their numbers. */
function fullestFirst(free: FreeOfNodes, amounts: NodeAmounts): readonly number[] {
  const names = Object.keys(amounts)
  return [...free.keys()].toSorted((a, b) => {
    const left = (node: number, name: string) => free.get(node)!.free[name] ?? 0
    const by = names.map((name) => left(a, name) - left(b, name)).find((each) => each !== 0)
    return by ?? a - b
  })
}

function allocationOf(parts: readonly NodePart[], nodes: readonly number[]): NumaAllocation {
  const vcpus: number[] = []
  const resources: Record<string, Record<string, number>> = {}
  for (const [place, part] of parts.entries()) {
    for (const vcpu of part.vcpus) vcpus[vcpu] = nodes[place]!
    resources[nodes[place]!] = { ...part.amounts }
  }
  return { vcpus, resources }
}

/** Its dedicated CPUs, of as few nodes as have them. */
function divided(
  { vcpus }: NodePart,
  emptiestFirst: readonly number[],
  free: FreeOfNodes,
): NumaAllocation | undefined {
  const nodes = emptiestFirst.flatMap((node) =>
    Array.from({ length: Math.max(0, free.get(node)!.free[DEDICATED_CPUS] ?? 0) }, () => node),
  )
  return nodes.length < vcpus.length ? undefined : dedicatedOn(nodes.slice(0, vcpus.length))
}

function dedicatedOn(vcpus: readonly number[]): NumaAllocation {
  const resources: Record<string, Record<string, number>> = {}
  for (const node of vcpus)
    resources[node] = { [DEDICATED_CPUS]: (resources[node]?.[DEDICATED_CPUS] ?? 0) + 1 }
  return { vcpus: [...vcpus], resources }
}

/**
 * What the server has of its nodes where its host says that its vCPUs are on these; undefined where it does not fit what
 * the server asks for.
 */
export function allocationAt(
  { parts, isDivisible }: NodeWish,
  vcpus: readonly number[],
): NumaAllocation | undefined {
  const count = parts.reduce((sum, part) => sum + part.vcpus.length, 0)
  if (vcpus.length !== count) return undefined
  if (isDivisible) return dedicatedOn(vcpus)
  const nodes = parts.map((part) => [...new Set(part.vcpus.map((vcpu) => vcpus[vcpu]!))])
  const isWhole = nodes.every(({ length }) => length === 1)
  const isApart = new Set(nodes.flat()).size === parts.length
  return isWhole && isApart ? allocationOf(parts, nodes.flat()) : undefined
}

/**
 * What the server has of the nodes on which its host says that its guest is bound, whatever the server asks for: what it takes
 * of its host, by the numbers of vCPUs there.
 */
export function allocationBound(
  { vcpus, memoryMb, custom = {} }: Resources,
  nodes: readonly number[],
): NumaAllocation {
  const there = [...new Set(nodes)]
  const counts = there.map((node) => nodes.filter((each) => each === node).length)
  const ofNodes = Object.entries(custom).filter(([name]) => isOfNodes(name))
  const resources: Record<string, Record<string, number>> = {}
  for (const [name, amount] of [['VCPU', vcpus], ['MEMORY_MB', memoryMb], ...ofNodes] as const)
    for (const [place, share] of divide(amount, counts).entries())
      if (share > 0) resources[there[place]!] = { ...resources[there[place]!], [name]: share }
  return { vcpus: [...nodes], resources }
}

/**
 * The allocation that a consumer of this wish holds, by its rows: parts that take the same of their nodes may change
 * places. Undefined for one that holds nothing of nodes.
 */
export function allocationHeld(
  wish: NodeWish | null,
  held: readonly { readonly resource_class: string; readonly used: number }[],
): NumaAllocation | undefined {
  const nodes = new Map<number, Record<string, number>>()
  for (const { resource_class: name, used } of held) {
    const of = readNodeClass(name)
    if (of !== undefined) nodes.set(of.node, { ...nodes.get(of.node), [of.resourceClass]: used })
  }
  if (wish === null || nodes.size === 0) return undefined
  if (wish.isDivisible)
    return dedicatedOn(
      [...nodes].flatMap(([node, amounts]) =>
        Array.from({ length: amounts[DEDICATED_CPUS] ?? 0 }, () => node),
      ),
    )
  const found = nodesFor(wish.parts, [...nodes.keys()], (node, { amounts }) =>
    fits(amounts, nodes.get(node)!),
  )
  return found && allocationOf(wish.parts, found)
}

/** What is claimed of the host, with what of it is of its nodes. */
export function withNodes(resources: Resources, numa: NumaAllocation | undefined): Resources {
  return numa === undefined ? resources : addResources(resources, nodeResources(numa))
}

/** True for a class of which NUMA nodes have all, besides CPUs and memory. */
function isOfNodes(resourceClass: string): boolean {
  return resourceClass === DEDICATED_CPUS || isLargePages(resourceClass)
}

/** The amounts of the nodes alone, as claims count them. */
export function nodeResources({ resources }: NumaAllocation): Resources {
  const custom = Object.entries(resources).flatMap(([node, amounts]) =>
    Object.entries(amounts).map(
      ([name, amount]) => [nodeClass(Number(node), name), amount] as const,
    ),
  )
  return { vcpus: 0, memoryMb: 0, diskGb: 0, custom: Object.fromEntries(custom) }
}
