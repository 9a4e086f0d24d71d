import {
  DEDICATED_CPUS,
  inWholePages,
  LARGE_PAGES,
  largePagesOf,
} from '#common/hardware-resources.ts'
import { type NumaPart, numaRequest } from '#common/numa.ts'
import { divide } from '#common/numa-providers.ts'
import type { FlavorSnapshot, ImageSnapshot } from '#openapi/wire/instance.ts'
import { type Resources, resourcesOf } from './resources.ts'

/** Amounts by resource class. */
export type NodeAmounts = Readonly<Record<string, number>>

/** What a server takes of NUMA nodes of its host. Types, not interfaces: they are logged as JSON. */
export type NodeWish = {
  /** Each of a node of its own. */
  readonly parts: readonly NodePart[]
  /** The one part may be of several nodes, each vCPU with an equal share: its guest sees no nodes. */
  readonly isDivisible: boolean
}

export type NodePart = {
  /** By their numbers. */
  readonly vcpus: readonly number[]
  readonly amounts: NodeAmounts
}

interface Sized {
  readonly flavor: FlavorSnapshot
  readonly image: Pick<ImageSnapshot, 'minDiskGb' | 'properties'>
}

/**
 * What a server takes of the nodes of a host where these are providers of their own; null for one whose guest may be
 * anywhere on its host. The amounts are parts of those that it takes of the host, except that each part has its large
 * pages whole.
 */
export function nodeWish(build: Sized): NodeWish | null {
  const { flavor, image } = build
  const resources = resourcesOf(build)
  const numa = numaRequest(flavor, image.properties)
  if (numa !== null) return { parts: partsOf(numa.parts, resources), isDivisible: false }
  const dedicated = resources.custom?.[DEDICATED_CPUS] ?? 0
  // Some but not all CPUs of a guest cannot be dedicated: its host refuses it.
  if (dedicated !== flavor.vcpus) return null
  const vcpus = Array.from({ length: flavor.vcpus }, (_, vcpu) => vcpu)
  return { parts: [{ vcpus, amounts: { [DEDICATED_CPUS]: dedicated } }], isDivisible: true }
}

function partsOf(parts: readonly NumaPart[], resources: Resources): readonly NodePart[] {
  const { vcpus, memoryMb, custom = {} } = resources
  const byCpus = (amount = 0) =>
    divide(
      amount,
      parts.map((part) => part.vcpus.length),
    )
  const byMemory = divide(
    memoryMb,
    parts.map((part) => part.memoryMb),
  )
  const [shared, dedicated] = [byCpus(vcpus), byCpus(custom[DEDICATED_CPUS])]
  return parts.map((part, place) => {
    const amounts = {
      VCPU: shared[place]!,
      MEMORY_MB: byMemory[place]!,
      [DEDICATED_CPUS]: dedicated[place]!,
      ...largePages(part, custom),
    }
    const taken = Object.entries(amounts).filter(([, amount]) => amount > 0)
    return { vcpus: part.vcpus, amounts: Object.fromEntries(taken) }
  })
}

/** In pages of the size that is claimed of the host; of any size, where none is. */
function largePages({ memoryMb }: NumaPart, custom: NodeAmounts): NodeAmounts {
  if (custom[LARGE_PAGES] === undefined) return {}
  const kib = Object.keys(custom).flatMap((name) => {
    const [, size] = /^CUSTOM_HUGEPAGE_(\d+)K_MB$/.exec(name) ?? []
    return size === undefined ? [] : [Number(size)]
  })[0]
  if (kib === undefined) return { [LARGE_PAGES]: memoryMb }
  const amount = inWholePages(memoryMb, kib)
  return { [LARGE_PAGES]: amount, [largePagesOf(kib)]: amount }
}
