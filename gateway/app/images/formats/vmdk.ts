import type { Sample } from './format.ts'
import { refuse } from './refuse.ts'

const SECTOR = 512
const HEADER_BYTES = 79
const DESCRIPTOR_SECTORS_MAX = 40
/** Subformats that keep everything in one file. The others name extents elsewhere (OSSA-2023-002). */
const SAFE_TYPES: ReadonlySet<string> = new Set(['monolithicsparse', 'streamoptimized'])
const EXTENT = /^\s*(?:RW|RDONLY|NOACCESS)\s+\d+\s+(\S+)/i

/**
 * The capacity of a sparse VMDK with an embedded descriptor. Throws `invalid` for a separate descriptor, and for one
 * that has a parent or names anything but one sparse extent: these make the reader open other files.
 */
export function inspectVmdk(sample: Sample): number {
  const { head } = sample
  if (head.length < HEADER_BYTES || head.toString('latin1', 0, 4) !== 'KDMV')
    refuse('vmdk', 'only monolithicSparse and streamOptimized files are accepted')
  const version = head.readUInt32LE(4)
  if (version < 1 || version > 3) refuse('vmdk', `its version is ${version}`)
  inspectDescriptor(descriptorOf(head))
  return Number(head.readBigUInt64LE(12)) * SECTOR
}

function descriptorOf(head: Buffer): string {
  const offset = Number(head.readBigUInt64LE(28)) * SECTOR
  const sectors = Number(head.readBigUInt64LE(36))
  if (offset === 0 || sectors === 0) refuse('vmdk', 'it has no embedded descriptor')
  if (sectors > DESCRIPTOR_SECTORS_MAX || offset + sectors * SECTOR > head.length)
    refuse('vmdk', 'its descriptor is not near the start')
  const text = head.toString('latin1', offset, offset + sectors * SECTOR)
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

function inspectDescriptor(descriptor: string): void {
  const lines = descriptor.split(/[\r\n]+/)
  const types = lines.flatMap((line) => /^\s*createType\s*=\s*"?([^"]*)/i.exec(line)?.[1] ?? [])
  if (types.length !== 1 || !SAFE_TYPES.has(types[0]!.trim().toLowerCase()))
    refuse('vmdk', 'only monolithicSparse and streamOptimized files are accepted')
  if (lines.some((line) => /^\s*parentFileNameHint/i.test(line))) refuse('vmdk', 'it has a parent')
  const parents = lines.flatMap((line) => /^\s*parentCID\s*=\s*(\w+)/i.exec(line)?.[1] ?? [])
  if (parents.some((cid) => cid.toLowerCase() !== 'ffffffff')) refuse('vmdk', 'it has a parent')
  const extents = lines.flatMap((line) => EXTENT.exec(line)?.[1] ?? [])
  if (extents.length !== 1 || extents[0]!.toUpperCase() !== 'SPARSE')
    refuse('vmdk', 'it must have exactly one extent, of type SPARSE')
}
