import { Failure } from '#common/errors.ts'
import { asksForDedicatedCpus } from '#common/hardware-resources.ts'
import { type PageSize, readPageSize, requestedPageSize } from '#common/page-size.ts'
import { requestedDevices } from '#common/pci-alias.ts'
import type { DomainSubject } from '../instance-record.ts'

/** What flavor and image say of a guest's CPUs and memory (nova: user/flavors, extra specs `hw:*`). */
export interface RequestedPlacement {
  /** True: each vCPU has a CPU of the host to itself. */
  readonly isDedicated: boolean
  /** Memory nodes that the guest sees, each within one of the host's; null: it sees none. */
  readonly nodes: number | null
  /** The size of the guest's memory pages; null: the host's default. */
  readonly page: PageSize | null
  /** As the guest sees its CPUs; null: as many sockets as CPUs. */
  readonly topology: CpuTopology | null
  /** How many PCI devices of each resource class. */
  readonly devices: Readonly<Record<string, number>>
  /** For each vCPU the node of the host that it is to be on; absent: it may be on any. */
  readonly hostNodes?: readonly number[]
}

export interface CpuTopology {
  readonly sockets: number
  readonly cores: number
  readonly threads: number
}

const NODES_MAX = 64

/** Throws `invalid`, naming the property, for what no guest can have. */
export function requestedPlacement({
  flavor: { extraSpecs, vcpus },
  imageProperties,
  hostNodes,
}: DomainSubject): RequestedPlacement {
  // The flavor's word is the operator's, so it goes before the image's.
  const propertyOf = (name: string) => extraSpecs[`hw:${name}`] ?? imageProperties[`hw_${name}`]
  refuseUnknownPolicy(propertyOf('cpu_policy'))
  refusePartlyDedicated(extraSpecs['resources:PCPU'], vcpus)
  return {
    isDedicated: asksForDedicatedCpus(extraSpecs, imageProperties),
    nodes: count('hw:numa_nodes', propertyOf('numa_nodes'), NODES_MAX),
    page: pageSize(requestedPageSize(extraSpecs, imageProperties)),
    topology: topology(propertyOf, vcpus),
    devices: devices(extraSpecs['pci_passthrough:alias']),
    ...(hostNodes && { hostNodes }),
  }
}

function refuseUnknownPolicy(policy = 'shared'): void {
  if (policy !== 'shared' && policy !== 'dedicated')
    throw new Failure('invalid', `hw:cpu_policy is ${policy}; it can be shared or dedicated.`)
}

/** Nova's `mixed` policy, of which guests here have none. */
function refusePartlyDedicated(asked: string | undefined, vcpus: number): void {
  if (asked !== undefined && Number(asked) !== 0 && Number(asked) !== vcpus)
    throw new Failure(
      'invalid',
      `resources:PCPU is ${asked}, and the flavor has ${vcpus} vCPUs: either all or none of them are dedicated.`,
    )
}

function devices(asked: string | undefined): RequestedPlacement['devices'] {
  const amounts = asked === undefined ? {} : requestedDevices(asked)
  if (amounts !== undefined) return amounts
  throw new Failure(
    'invalid',
    `pci_passthrough:alias is ${asked}; it must be aliases and numbers of devices, such as gpu:1.`,
  )
}

function pageSize(asked: string | undefined): PageSize | null {
  if (asked === undefined) return null
  const size = readPageSize(asked)
  if (size !== undefined) return size
  throw new Failure(
    'invalid',
    `hw:mem_page_size is ${asked}; it can be small, large, any, or a size such as 2MB.`,
  )
}

const PARTS = ['sockets', 'cores', 'threads'] as const
/** As many as Nova allows to be named. */
const MOST_MAX = 65_536

/** Of those that have the counts asked for, and no more than the most that are allowed, the one with the most sockets, then cores. */
function topology(
  propertyOf: (name: string) => string | undefined,
  vcpus: number,
): CpuTopology | null {
  const asked = (prefix: string, max: number) =>
    PARTS.map((part) => count(`hw:${prefix}${part}`, propertyOf(`${prefix}${part}`), max))
  const wanted = asked('cpu_', vcpus)
  const most = asked('cpu_max_', MOST_MAX)
  if ([...wanted, ...most].every((number) => number === null)) return null
  const found = topologiesOf(vcpus).find((each) =>
    PARTS.every((part, place) => {
      const number = each[part]
      return number === (wanted[place] ?? number) && number <= (most[place] ?? number)
    }),
  )
  if (found !== undefined) return found
  throw new Failure(
    'invalid',
    `hw:cpu_sockets, hw:cpu_cores, hw:cpu_threads and their hw:cpu_max_ values do not make ${vcpus} vCPUs.`,
  )
}

/** The one with the most sockets first, then that with the most cores. */
function topologiesOf(vcpus: number): readonly CpuTopology[] {
  return divisorsOf(vcpus).flatMap((sockets) => {
    const perSocket = vcpus / sockets
    return divisorsOf(perSocket).map((cores) => ({ sockets, cores, threads: perSocket / cores }))
  })
}

/** The largest first. */
function divisorsOf(number: number): readonly number[] {
  return Array.from({ length: number }, (_, place) => number - place).filter(
    (each) => number % each === 0,
  )
}

function count(name: string, asked: string | undefined, max: number): number | null {
  if (asked === undefined) return null
  const number = /^\d{1,5}$/.test(asked) ? Number(asked) : 0
  if (number < 1 || number > max)
    throw new Failure('invalid', `${name} is ${asked}; it must be a number from 1 to ${max}.`)
  return number
}
