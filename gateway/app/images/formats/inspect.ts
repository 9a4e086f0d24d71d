import type { DiskFormat, Sample, WantedFormat } from './format.ts'
import { DISK_FORMATS, VIRTUAL_SIZE_MAX } from './format.ts'
import { inspectQcow2 } from './qcow2.ts'
import { refuse } from './refuse.ts'
import { hasIsoDescriptor, type Signature, signatureOf } from './signatures.ts'
import { inspectVdi } from './vdi.ts'
import { inspectVhd } from './vhd.ts'
import { inspectVmdk } from './vmdk.ts'

/**
 * The size of the disk a guest will see. Throws `invalid` when the content is not what `wanted` says, or is a
 * form of some format that makes a reader open anything else. Nothing here trusts a size in the content beyond reporting it.
 */
export function inspectContent(wanted: WantedFormat, sample: Sample): number {
  const found = signatureOf(sample)
  const format = wanted === 'any' ? formatNamed(found) : wanted
  if (format === undefined) return sample.sizeBytes
  const virtualSizeBytes = INSPECTORS[format](sample, found)
  if (virtualSizeBytes > VIRTUAL_SIZE_MAX) refuse(format, 'its virtual size is out of range')
  return virtualSizeBytes
}

/** Undefined for plain bytes, and for formats that are none of ours. */
function formatNamed(found: Signature | undefined): DiskFormat | undefined {
  return DISK_FORMATS.find((format) => format === found)
}

type Inspector = (sample: Sample, found: Signature | undefined) => number

const plain =
  (name: string): Inspector =>
  (sample, found) => {
    if (found !== undefined) refuse(name, `its content is ${found}`)
    return sample.sizeBytes
  }

const marked =
  (name: Signature, inspect: (sample: Sample) => number): Inspector =>
  (sample, found) => {
    if (found !== name) refuse(name, `its content is ${found ?? 'something else'}`)
    return inspect(sample)
  }

const INSPECTORS: Readonly<Record<DiskFormat, Inspector>> = {
  raw: plain('raw'),
  ami: plain('ami'),
  aki: plain('aki'),
  ari: plain('ari'),
  iso: (sample, found) => {
    if (!hasIsoDescriptor(sample)) refuse('iso', `its content is ${found ?? 'something else'}`)
    return plain('iso')(sample, found)
  },
  qcow2: marked('qcow2', inspectQcow2),
  vmdk: marked('vmdk', inspectVmdk),
  vdi: marked('vdi', inspectVdi),
  vhd: marked('vhd', inspectVhd),
}
