import { Failure } from '#common/errors.ts'
import { type NumaPart, nodesFor, numaParts, pageSizesToTry, pagesIn } from '#common/numa.ts'
import type { HostNode } from './host-nodes.ts'
import type { PciDevice } from './pci-devices.ts'
import type { RequestedPlacement } from './requested-placement.ts'

/** Which of the host's CPUs, memory and devices a guest has. */
export interface GuestPlacement {
  /** The host's CPU for each vCPU; absent: any that are shared. */
  readonly pins?: readonly number[]
  /** The memory nodes that the guest sees, each with its node of the host; absent: it sees none. */
  readonly nodes?: readonly GuestNode[]
  /** Absent: as the host does. */
  readonly pageKib?: number
  /** Addresses of PCI devices; absent: none. */
  readonly devices?: readonly string[]
}

export interface GuestNode {
  readonly hostNode: number
  readonly vcpus: readonly number[]
  readonly memoryMb: number
}

export interface HostPlaces {
  readonly nodes: readonly HostNode[]
  /** CPUs set apart for guests that have theirs to themselves. */
  readonly dedicated: readonly number[]
  /** Devices that guests may be lent. */
  readonly devices: readonly PciDevice[]
  /** The hardware of the host's other guests. */
  readonly others: readonly GuestPlacement[]
}

interface GuestSize {
  readonly vcpus: number
  readonly memoryMb: number
}

/** Throws `no-capacity` with what the host lacks, `invalid` for more nodes than vCPUs. */
export function placeGuest(
  asked: RequestedPlacement,
  size: GuestSize,
  host: HostPlaces,
): GuestPlacement {
  const devices = freeDevices(asked, host)
  return { ...onNodes(asked, size, host), ...(devices.length > 0 && { devices }) }
}

function freeDevices(
  { devices: wanted }: RequestedPlacement,
  { devices, others }: HostPlaces,
): readonly string[] {
  const taken = new Set(others.flatMap((other) => other.devices ?? []))
  return Object.entries(wanted).flatMap(([name, amount]) => {
    const free = devices.filter((each) => each.resourceClass === name && !taken.has(each.address))
    if (free.length < amount) throw lacks(`has ${free.length} ${name} free, ${amount} are needed`)
    return free.slice(0, amount).map(({ address }) => address)
  })
}

/** Its CPUs and memory. */
function onNodes(asked: RequestedPlacement, size: GuestSize, host: HostPlaces): GuestPlacement {
  if (asked.isDedicated && host.dedicated.length === 0)
    throw lacks('sets no CPUs apart for guests that ask for their own (dedicated_cpus)')
  const taken = new Set(host.others.flatMap(({ pins = [] }) => pins))
  const free = host.dedicated.filter((cpu) => !taken.has(cpu))
  const sizes = host.nodes.flatMap(({ pages }) => [...pages.keys()])
  for (const pageKib of pageSizesToTry(asked.page, sizes)) {
    const seen = asked.nodes ?? (pageKib === undefined ? null : 1)
    const parts = split(size, seen ?? 1)
    if (seen === null)
      return asked.isDedicated ? { pins: pinsAnywhere(asked, free, host, size.vcpus) } : {}
    const cpusOf = ({ cpus }: HostNode) =>
      asked.isDedicated ? cpus.filter((cpu) => free.includes(cpu)) : cpus
    const found = fit(parts, host, { pageKib, cpusOf, hostNodes: asked.hostNodes })
    if (found === undefined) continue
    return {
      ...(asked.isDedicated && { pins: pinned(parts, found.map(cpusOf)) }),
      nodes: parts.map((part, index) => ({ ...part, hostNode: found[index]!.id })),
      ...(pageKib !== undefined && { pageKib }),
    }
  }
  const { nodes, hostNodes } = asked
  const own = asked.isDedicated ? 'free dedicated ' : ''
  const pages =
    asked.page === null ? '' : `, with memory in pages of the size asked for (hw:mem_page_size)`
  const which =
    hostNodes === undefined ? '' : ` among those that were claimed (${named(hostNodes)})`
  throw lacks(`has no ${nodes ?? 1} NUMA nodes with enough ${own}CPUs${pages}${which}`)
}

/** Throws `invalid` for more nodes than vCPUs. */
function split(size: GuestSize, nodes: number): readonly NumaPart[] {
  if (nodes > size.vcpus)
    throw new Failure(
      'invalid',
      `hw:numa_nodes is ${nodes}, and the flavor has ${size.vcpus} vCPUs.`,
    )
  return numaParts(size, nodes)
}

/** Of a guest that sees no nodes. */
function pinsAnywhere(
  { hostNodes }: RequestedPlacement,
  free: readonly number[],
  { nodes }: HostPlaces,
  vcpus: number,
): readonly number[] {
  const all = [{ vcpus: Array.from({ length: vcpus }, (_, vcpu) => vcpu), memoryMb: 0 }]
  if (hostNodes === undefined) return pinned(all, [free])
  const left = new Set(free)
  return hostNodes.map((id) => {
    const cpu = nodes.find((node) => node.id === id)?.cpus.find((each) => left.has(each))
    if (cpu === undefined)
      throw lacks(
        `has too few dedicated CPUs free on the NUMA nodes that were claimed (${named(hostNodes)})`,
      )
    left.delete(cpu)
    return cpu
  })
}

function named(hostNodes: readonly number[]): string {
  return [...new Set(hostNodes)].join(', ')
}

interface Needs {
  /** For each vCPU the node that was claimed for it; absent: any. */
  readonly hostNodes: readonly number[] | undefined
  readonly pageKib: number | undefined
  /** Those of a node that the guest may have. */
  readonly cpusOf: (node: HostNode) => readonly number[]
}

/** A node of the host for each part, no two the same; undefined when there are none. */
function fit(
  parts: readonly NumaPart[],
  { nodes, others }: HostPlaces,
  { pageKib, cpusOf, hostNodes }: Needs,
): readonly HostNode[] | undefined {
  return nodesFor(
    parts,
    nodes,
    (node, { vcpus, memoryMb }) =>
      vcpus.every((vcpu) => (hostNodes?.[vcpu] ?? node.id) === node.id) &&
      cpusOf(node).length >= vcpus.length &&
      (pageKib === undefined || freePages(node, pageKib, others) >= pagesIn(memoryMb, pageKib)),
  )
}

function freePages(
  { id, pages }: HostNode,
  kib: number,
  others: readonly GuestPlacement[],
): number {
  const taken = others
    .filter(({ pageKib }) => pageKib === kib)
    .flatMap(({ nodes = [] }) => nodes.filter(({ hostNode }) => hostNode === id))
  return taken.reduce((left, { memoryMb }) => left - pagesIn(memoryMb, kib), pages.get(kib) ?? 0)
}

/** A CPU for each vCPU, of those its part may have. */
function pinned(
  parts: readonly NumaPart[],
  cpus: readonly (readonly number[])[],
): readonly number[] {
  const pins = parts.flatMap(({ vcpus }, index) => cpus[index]!.slice(0, vcpus.length))
  const wanted = parts.reduce((sum, { vcpus }) => sum + vcpus.length, 0)
  if (pins.length < wanted) throw lacks(`has ${pins.length} of ${wanted} dedicated CPUs free`)
  return pins
}

function lacks(what: string): Failure {
  return new Failure('no-capacity', `This host ${what}.`)
}
