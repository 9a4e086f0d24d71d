import { Failure } from '#common/errors.ts'
import type { DomainSubject } from '../instance-record.ts'

/** What flavor and image say of a guest's CPUs and memory (nova: user/flavors, extra specs `hw:*`). */
export interface AskedPlacement {
  /** True: each vCPU has a CPU of the host to itself. */
  readonly isDedicated: boolean
  /** Memory nodes that the guest sees, each within one of the host's; null: it sees none. */
  readonly nodes: number | null
  /** The size of its memory's pages; null: whatever the host uses. */
  readonly page: PageSize | null
  /** As the guest sees its CPUs; null: as many sockets as CPUs. */
  readonly topology: CpuTopology | null
}

export type PageSize = 'small' | 'large' | 'any' | { readonly kib: number }

export interface CpuTopology {
  readonly sockets: number
  readonly cores: number
  readonly threads: number
}

const NODES_MAX = 64
const UNITS_KIB: Readonly<Record<string, number>> = { KB: 1, MB: 1024, GB: 1024 ** 2 }

/** Throws `invalid`, naming the property, for what no guest can have, and for PCI devices, which no host here lends. */
export function askedPlacement({
  flavor: { extraSpecs, vcpus },
  imageProperties,
}: DomainSubject): AskedPlacement {
  // The flavor's word is the operator's, so it goes before the image's.
  const said = (name: string) => extraSpecs[`hw:${name}`] ?? imageProperties[`hw_${name}`]
  if (extraSpecs['pci_passthrough:alias'] !== undefined)
    throw new Failure(
      'invalid',
      'pci_passthrough:alias asks for a PCI device; hosts of this driver lend none to guests.',
    )
  return {
    isDedicated: isDedicated(said('cpu_policy')),
    nodes: count('hw:numa_nodes', said('numa_nodes'), NODES_MAX),
    page: pageSize(said('mem_page_size')),
    topology: topology(said, vcpus),
  }
}

function isDedicated(policy = 'shared'): boolean {
  if (policy !== 'shared' && policy !== 'dedicated')
    throw new Failure('invalid', `hw:cpu_policy is ${policy}; it can be shared or dedicated.`)
  return policy === 'dedicated'
}

function pageSize(asked: string | undefined): PageSize | null {
  if (asked === undefined) return null
  if (asked === 'small' || asked === 'large' || asked === 'any') return asked
  const [, digits, unit = 'KB'] = /^([1-9]\d{0,8})(KB|MB|GB)?$/.exec(asked) ?? []
  if (digits === undefined)
    throw new Failure(
      'invalid',
      `hw:mem_page_size is ${asked}; it can be small, large, any, or a size such as 2MB.`,
    )
  return { kib: Number(digits) * UNITS_KIB[unit]! }
}

/** What is left open is filled with sockets. */
function topology(said: (name: string) => string | undefined, vcpus: number): CpuTopology | null {
  const [sockets, cores, threads] = ['cpu_sockets', 'cpu_cores', 'cpu_threads'].map((name) =>
    count(`hw:${name}`, said(name), vcpus),
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
