import { Bmc } from '../../ipmi/bmc.ts'
import type { BmcSettings } from '../../ipmi/bmc-settings.ts'
import { ipmiPower } from '../../ipmi/ipmi-power.ts'
import type { Power } from '../../machine-power.ts'
import type { MachineParts } from '../../nodes.ts'
import { ipmiManagement } from '../parts/ipmi-management.ts'
import { type Management, noopManagement } from '../parts/management.ts'
import { noopPower } from '../parts/noop-power.ts'
import type { EnrolledNode } from './enrolled-node.ts'
import type { NodeRecord } from './node-record.ts'

const MIB_PER_GIB = 1024
const BYTES_PER_GIB = 1024 ** 3

/** A machine, its parts, and its record. Only its pool changes the record. */
export interface Node extends EnrolledParts {
  readonly name: string
  readonly enrolled: EnrolledNode
  readonly record: NodeRecord
}

export interface EnrolledParts {
  readonly power: Power
  readonly management: Management
  /** Absent: the node has no serial console. */
  readonly bmc?: Bmc
}

/** The parts a node is composed of: those of its BMC, or people's. */
export function nodeParts(
  { usesEfi }: EnrolledNode,
  settings: BmcSettings | undefined,
  isOn: boolean,
): EnrolledParts {
  if (settings === undefined) return { power: noopPower(isOn), management: noopManagement }
  const bmc = new Bmc(settings)
  return { bmc, power: ipmiPower(bmc), management: ipmiManagement(bmc, usesEfi) }
}

/** The resource class by which servers get such a machine; undefined until it has been inspected. */
export function resourceClassOf({ enrolled, record: { parts } }: Node): string | undefined {
  if (parts === null) return undefined
  const { resourceClass } = enrolled
  if (resourceClass !== undefined) return resourceClass
  const { vcpus, memoryMb, diskGb } = sizeOf(parts)
  // The kernel keeps some of the memory to itself.
  const memoryGb = Math.ceil(memoryMb / MIB_PER_GIB)
  return `CUSTOM_METAL_${vcpus}CPU_${memoryGb}GB_${diskGb}GB`
}

/** Its first disk is what servers get: images are written there. */
export function sizeOf({ cpus, memoryMb, disks: [disk] }: MachineParts): {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
} {
  return { vcpus: cpus, memoryMb, diskGb: Math.floor((disk?.sizeBytes ?? 0) / BYTES_PER_GIB) }
}

/** Those an operator named, and what inspection found. */
export function traitsOf({ enrolled, record: { parts } }: Node): readonly string[] {
  const { traits = [], usesEfi } = enrolled
  const architecture = parts?.architecture.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  const found = architecture === undefined ? [] : [`CUSTOM_CPU_${architecture}`]
  return [...traits, ...found, usesEfi ? 'CUSTOM_BOOT_UEFI' : 'CUSTOM_BOOT_BIOS']
}

/** True for a node that has a server, or could take one. */
export function isOffered({ enrolled, record: { instance, state } }: Node): boolean {
  return instance !== null || (state === 'available' && enrolled.maintenance === undefined)
}

/** Of its NICs, the one that it boots by first. */
export function nicsOf({ enrolled: { macAddress }, record: { parts } }: Node): readonly string[] {
  return [...new Set([macAddress, ...(parts?.macAddresses ?? [])])]
}
