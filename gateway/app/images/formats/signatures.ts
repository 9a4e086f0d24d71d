import type { Sample } from './format.ts'

/** Formats whose content gives itself away, ours and others that an emulator would recognise by probing. */
export type Signature =
  | 'qcow2'
  | 'qcow'
  | 'qed'
  | 'vmdk'
  | 'vdi'
  | 'vhd'
  | 'vhdx'
  | 'luks'
  | 'parallels'
  | 'bochs'
  | 'cloop'
  | 'dmg'

interface Mark {
  readonly signature: Signature
  readonly offset: number
  readonly bytes: Buffer
}

const mark = (signature: Signature, offset: number, bytes: string): Mark => ({
  signature,
  offset,
  bytes: Buffer.from(bytes, 'latin1'),
})

/** Offsets and magics as in QEMU's block drivers (`*_probe`), which decide what a probed raw disk becomes. */
const HEAD_MARKS: readonly Mark[] = [
  mark('qcow', 0, 'QFI\xfb\0\0\0\x01'),
  mark('qcow2', 0, 'QFI\xfb'),
  mark('qed', 0, 'QED\0'),
  mark('vmdk', 0, 'KDMV'),
  mark('vmdk', 0, 'COWD'),
  mark('vdi', 0x40, '\x7f\x10\xda\xbe'),
  mark('vhd', 0, 'conectix'),
  mark('vhdx', 0, 'vhdxfile'),
  mark('luks', 0, 'LUKS\xba\xbe'),
  mark('parallels', 0, 'WithoutFreeSpace'),
  mark('parallels', 0, 'WithouFreSpacExt'),
  mark('bochs', 0, 'Bochs Virtual HD Image'),
  mark('cloop', 0, '#!/bin/sh\n#V2.0 Format\nmodprobe cloop'),
]

const TAIL_MARKS: readonly Mark[] = [mark('vhd', -512, 'conectix'), mark('dmg', -512, 'koly')]

/** A VMDK may also be a text file: comments and blank lines, then `version=`, as QEMU reads it. */
const VMDK_TEXT = /^(?:[ \t]*(?:#[^\n]*|\r?)\n)*[ \t]*version=[123]\s/i
const VMDK_TITLE = /^\s*# *Disk *DescriptorFile/i

/** The format that a probe would detect in the content; undefined for plain bytes. */
export function signatureOf(sample: Sample): Signature | undefined {
  const head = HEAD_MARKS.find((m) => hasBytes(sample.head, m.offset, m.bytes))
  if (head !== undefined) return head.signature
  const text = sample.head.toString('latin1', 0, 4096)
  if (VMDK_TITLE.test(text) || VMDK_TEXT.test(text)) return 'vmdk'
  return TAIL_MARKS.find((m) => hasBytes(sample.tail, sample.tail.length + m.offset, m.bytes))
    ?.signature
}

const ISO_DESCRIPTORS = 0x8000

/** True when an ISO 9660 or UDF volume descriptor is where every reader looks for it. */
export function hasIsoDescriptor(sample: Sample): boolean {
  const names = ['CD001', 'BEA01', 'NSR02', 'NSR03']
  return names.some((name) => hasBytes(sample.head, ISO_DESCRIPTORS + 1, Buffer.from(name)))
}

function hasBytes(content: Buffer, offset: number, bytes: Buffer): boolean {
  if (offset < 0 || content.length < offset + bytes.length) return false
  return content.subarray(offset, offset + bytes.length).equals(bytes)
}
