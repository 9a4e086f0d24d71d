import { DEDICATED_CPUS, LARGE_PAGES, largePagesOf } from './hardware-resources.ts'
import type { NumaNode } from './numa.ts'

/** Amounts by resource class. */
type Amounts = Readonly<Record<string, number>>

/** What a host of parts offers, as far as its NUMA nodes share it. */
export interface NumaHost {
  readonly vcpus: number
  readonly memoryMb: number
  readonly reserved?: { readonly vcpus: number; readonly memoryMb: number }
  readonly numa?: readonly NumaNode[]
  /** Placement has a provider for each of its nodes. */
  readonly hasNumaProviders?: true
  /** Present: it gives whole machines, which are of no node. */
  readonly machines?: readonly unknown[]
}

/** What a NUMA node has of what its host offers. */
export interface NodeShare {
  readonly id: number
  /** Of classes that may be promised several times: `VCPU` and `MEMORY_MB`. */
  readonly shared: Readonly<
    Record<SharedClass, { readonly total: number; readonly reserved: number }>
  >
  /** Of classes that are not: `PCPU`, and memory in large pages. */
  readonly exact: Amounts
}

export type SharedClass = 'VCPU' | 'MEMORY_MB'

const KIB_PER_MIB = 1024

/** Of each node that is a provider of its own; empty for a host whose resources are all its own. */
export function nodeShares(host: NumaHost): readonly NodeShare[] {
  const { numa = [], hasNumaProviders, machines, vcpus, memoryMb, reserved } = host
  if (hasNumaProviders !== true || machines !== undefined) return []
  const cpus = shares(vcpus, reserved?.vcpus ?? 0, numa.map(sharedCpus))
  const memory = shares(
    memoryMb,
    reserved?.memoryMb ?? 0,
    numa.map((node) => node.memoryMb),
  )
  return numa.map((node, place) => ({
    id: node.id,
    shared: { VCPU: cpus[place]!, MEMORY_MB: memory[place]! },
    exact: { [DEDICATED_CPUS]: node.dedicatedCpus, ...largePages(node) },
  }))
}

function sharedCpus({ cpus, dedicatedCpus }: NumaNode): number {
  return Math.max(0, cpus - dedicatedCpus)
}

function largePages({ pages }: NumaNode): Amounts {
  const amounts: Record<string, number> = {}
  for (const [kib, count] of Object.entries(pages)) {
    const mib = (count * Number(kib)) / KIB_PER_MIB
    for (const name of [LARGE_PAGES, largePagesOf(Number(kib))])
      amounts[name] = (amounts[name] ?? 0) + mib
  }
  return amounts
}

/**
 * A host may offer less than its machine has, so its nodes share what it offers by their sizes, to the last unit, and
 * what it keeps for itself by what they got: no node keeps more than it has.
 */
function shares(total: number, reserved: number, sizes: readonly number[]) {
  const totals = divide(total, sizes)
  const kept = divide(Math.min(reserved, total), totals)
  return totals.map((amount, place) => ({ total: amount, reserved: kept[place]! }))
}

/** Whole units, in proportion to the weights; equal ones where all weights are 0. The sum is the amount. */
export function divide(amount: number, weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((a, b) => a + b, 0)
  const weightOf = (place: number) => (sum === 0 ? 1 : weights[place]!)
  const whole = sum === 0 ? weights.length : sum
  let before = 0
  return weights.map((_, place) => {
    const from = Math.floor((amount * before) / whole)
    before += weightOf(place)
    return Math.floor((amount * before) / whole) - from
  })
}

const NODE_CLASS = /^NUMA_(\d{1,4})_([A-Z0-9_]+)$/

/** The name under which a cell counts a class of one NUMA node, beside those of the host. */
export function nodeClass(node: number, resourceClass: string): string {
  return `NUMA_${node}_${resourceClass}`
}

/** Undefined for a class of the host itself. */
export function readNodeClass(
  name: string,
): { readonly node: number; readonly resourceClass: string } | undefined {
  const [, node, resourceClass] = NODE_CLASS.exec(name) ?? []
  return resourceClass === undefined ? undefined : { node: Number(node), resourceClass }
}
