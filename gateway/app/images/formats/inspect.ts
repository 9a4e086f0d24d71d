import type { DiskFormat, Sample } from './format.ts'
import { VIRTUAL_SIZE_MAX } from './format.ts'
import { inspectQcow2 } from './qcow2.ts'
import { refuse } from './refuse.ts'
import { hasIsoDescriptor, type Signature, signatureOf } from './signatures.ts'
import { inspectVdi } from './vdi.ts'
import { inspectVhd } from './vhd.ts'
import { inspectVmdk } from './vmdk.ts'

/**
 * The size of the disk a guest will see. Throws `invalid` when the content is not what `declared` says, or is a
 * form of it that makes a reader open anything else. Nothing here trusts a size in the content beyond reporting it.
 */
export function inspectContent(declared: DiskFormat, sample: Sample): number {
  const found = signatureOf(sample)
  const virtualSizeBytes = INSPECTORS[declared](sample, found)
  if (virtualSizeBytes > VIRTUAL_SIZE_MAX) refuse(declared, 'its virtual size is out of range')
  return virtualSizeBytes
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
