import { asksForDedicatedCpus } from './hardware-resources.ts'
import { type PageSize, readPageSize, requestedPageSize, SMALL_PAGE_KIB } from './page-size.ts'

type Properties = Readonly<Record<string, string>>

/** A memory node that a guest sees, by the numbers of its vCPUs. */
export interface NumaPart {
  readonly vcpus: readonly number[]
  readonly memoryMb: number
}

/** A part of a host whose CPUs and memory are close to each other, taken or not. */
export interface NumaNode {
  readonly id: number
  readonly cpus: number
  /** Of these, those set apart for guests that ask for CPUs of their own. */
  readonly dedicatedCpus: number
  readonly memoryMb: number
  /** How many large pages, by their size in KiB. */
  readonly pages: Readonly<Record<string, number>>
}

/** What a guest needs whose memory nodes are each within one of its host's. */
export interface NumaRequest {
  /** Each on another node of the host. */
  readonly parts: readonly NumaPart[]
  /** Each vCPU has a CPU of the host to itself. */
  readonly isDedicated: boolean
  /** Of the memory; null: as the host has it. */
  readonly page: PageSize | null
}

interface GuestSize {
  readonly vcpus: number
  readonly memoryMb: number
}

const KIB_PER_MIB = 1024

/** The memory nodes that flavor and image ask for; null: none, or nothing that can be read, which hosts refuse. */
export function numaRequest(
  flavor: GuestSize & { readonly extraSpecs: Properties },
  image: Properties,
): NumaRequest | null {
  const { extraSpecs, vcpus } = flavor
  const page = readPageSize(requestedPageSize(extraSpecs, image) ?? '') ?? null
  const text = extraSpecs['hw:numa_nodes'] ?? image['hw_numa_nodes']
  if (text === undefined && !asksForLargePages(page)) return null
  const nodes = text === undefined ? 1 : Number(text)
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > vcpus) return null
  return {
    parts: numaParts(flavor, nodes),
    isDedicated: asksForDedicatedCpus(extraSpecs, image),
    page,
  }
}

/** As evenly as whole CPUs and MiB go. There are no more nodes than vCPUs. */
export function numaParts({ vcpus, memoryMb }: GuestSize, nodes: number): readonly NumaPart[] {
  const share = (total: number, index: number) => Math.floor((total * index) / nodes)
  return Array.from({ length: nodes }, (_, index) => ({
    vcpus: Array.from(
      { length: share(vcpus, index + 1) - share(vcpus, index) },
      (_cpu, offset) => share(vcpus, index) + offset,
    ),
    memoryMb: share(memoryMb, index + 1) - share(memoryMb, index),
  }))
}

/** A node of the host for each part, no two the same; undefined when there are none. */
export function nodesFor<T, P>(
  parts: readonly P[],
  nodes: readonly T[],
  hasRoom: (node: T, part: P) => boolean,
): readonly T[] | undefined {
  // A part that finds its node taken has the other part look for another one: the first fit alone misses some solutions.
  const partOn = new Map<number, number>()
  const place = (part: number, seen: Set<number>): boolean => {
    const fitting = [...nodes.keys()].filter(
      (index) => !seen.has(index) && hasRoom(nodes[index]!, parts[part]!),
    )
    const free = fitting.find((index) => !partOn.has(index))
    const found =
      free ??
      fitting.find((index) => {
        if (seen.has(index)) return false
        seen.add(index)
        return place(partOn.get(index)!, seen)
      })
    if (found !== undefined) partOn.set(found, part)
    return found !== undefined
  }
  if (!parts.every((_, part) => place(part, new Set()))) return undefined
  const found: T[] = []
  for (const [index, part] of partOn) found[part] = nodes[index]!
  return found
}

/** The sizes in KiB to be tried on a host that has pages of these, in their order; undefined: as the host has its memory. */
export function pageSizesToTry(
  page: PageSize | null,
  sizes: readonly number[],
): readonly (number | undefined)[] {
  // Of large pages only those are counted that a flavor asks for.
  if (!asksForLargePages(page)) return [undefined]
  if (typeof page === 'object' && page !== null) return [page.kib]
  return [...new Set(sizes)].filter((kib) => kib > SMALL_PAGE_KIB).toSorted((a, b) => b - a)
}

/** How many pages of a size hold so many MiB. */
export function pagesIn(memoryMb: number, kib: number): number {
  return Math.ceil((memoryMb * KIB_PER_MIB) / kib)
}

function asksForLargePages(page: PageSize | null): boolean {
  return (
    page === 'large' || (typeof page === 'object' && page !== null && page.kib !== SMALL_PAGE_KIB)
  )
}
