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

/** Counts left open are filled with sockets. */
function topology(
  propertyOf: (name: string) => string | undefined,
  vcpus: number,
): CpuTopology | null {
  const [sockets, cores, threads] = ['cpu_sockets', 'cpu_cores', 'cpu_threads'].map((name) =>
    count(`hw:${name}`, propertyOf(name), vcpus),
  )
  if (sockets === null && cores === null && threads === null) return null
  const perSocket = (cores ?? 1) * (threads ?? 1)
  const found = { sockets: sockets ?? vcpus / perSocket, cores: cores ?? 1, threads: threads ?? 1 }
  if (found.sockets * perSocket !== vcpus || !Number.isInteger(found.sockets))
    throw new Failure(
      'invalid',
      `hw:cpu_sockets, hw:cpu_cores and hw:cpu_threads do not make ${vcpus} vCPUs.`,
    )
  return found
}

function count(name: string, asked: string | undefined, max: number): number | null {
  if (asked === undefined) return null
  const number = /^\d{1,5}$/.test(asked) ? Number(asked) : 0
  if (number < 1 || number > max)
    throw new Failure('invalid', `${name} is ${asked}; it must be a number from 1 to ${max}.`)
  return number
}
