import { open } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'

export const IMAGE_FORMATS = ['qcow2', 'raw'] as const
export type ImageFormat = (typeof IMAGE_FORMATS)[number]

const HEADER_BYTES = 512
const QCOW2_MAGIC = 0x514649fb
const QCOW2_BACKING_AT = 8
const QCOW2_SIZE_AT = 24

/** QEMU docs/interop/qcow2.rst: incompatible features that change nothing about where the data is. */
const FEATURES_ACCEPTED = (1n << 0n) | (1n << 3n) | (1n << 4n) // dirty, compression type, extended L2
const FEATURE_EXTERNAL_DATA = 1n << 2n

/** What begins a file of another format. Taking one of these as raw is how a guest gets to read host files. */
const OTHER_FORMATS: readonly {
  readonly name: string
  readonly at: number
  readonly magic: Buffer
}[] = [
  { name: 'qcow2', at: 0, magic: Buffer.from([0x51, 0x46, 0x49, 0xfb]) },
  { name: 'qed', at: 0, magic: Buffer.from('QED\0') },
  { name: 'vmdk', at: 0, magic: Buffer.from('KDMV') },
  { name: 'vmdk', at: 0, magic: Buffer.from('COWD') },
  { name: 'vmdk', at: 0, magic: Buffer.from('# Disk DescriptorFile') },
  { name: 'vhdx', at: 0, magic: Buffer.from('vhdxfile') },
  { name: 'vhd', at: 0, magic: Buffer.from('conectix') },
  { name: 'vdi', at: 0x40, magic: Buffer.from([0x7f, 0x10, 0xda, 0xbe]) },
  { name: 'luks', at: 0, magic: Buffer.from([0x4c, 0x55, 0x4b, 0x53, 0xba, 0xbe]) },
]

/**
 * The size in bytes of the disk that an image file holds, read from its header without running anything on it.
 * Throws `invalid` when the file is not of the declared format, or refers to any other file.
 */
export async function imageVirtualSize(path: string, format: ImageFormat): Promise<number> {
  const file = await open(path, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    await file.read(header, 0, HEADER_BYTES, 0)
    if (format === 'qcow2') return qcow2VirtualSize(header)
    refuseOtherFormats(header)
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}

/** The size in bytes of a disk that this host made, whose header is to be trusted. */
export async function ownDiskSize(path: string): Promise<number> {
  const file = await open(path, 'r')
  try {
    const size = Buffer.alloc(8)
    await file.read(size, 0, size.length, QCOW2_SIZE_AT)
    return Number(size.readBigUInt64BE(0))
  } finally {
    await file.close()
  }
}

/** True for a qcow2 disk that shows another file wherever it has not been written. Throws `invalid` for other problems. */
export async function ownDiskIsOverlay(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    await file.read(header, 0, HEADER_BYTES, 0)
    const isOverlay = header.readBigUInt64BE(QCOW2_BACKING_AT) !== 0n
    header.writeBigUInt64BE(0n, QCOW2_BACKING_AT)
    qcow2VirtualSize(header)
    return isOverlay
  } finally {
    await file.close()
  }
}

function qcow2VirtualSize(header: Buffer): number {
  if (header.readUInt32BE(0) !== QCOW2_MAGIC) throw notAsDeclared('it is not a qcow2 file')
  const version = header.readUInt32BE(4)
  if (version !== 2 && version !== 3) throw notAsDeclared(`it is qcow2 of version ${version}`)
  if (header.readBigUInt64BE(QCOW2_BACKING_AT) !== 0n)
    throw notAsDeclared('it refers to a backing file')
  if (header.readUInt32BE(32) !== 0) throw notAsDeclared('it is encrypted')
  const features = version === 3 ? header.readBigUInt64BE(72) : 0n
  if ((features & FEATURE_EXTERNAL_DATA) !== 0n) throw notAsDeclared('it refers to a data file')
  if ((features & ~FEATURES_ACCEPTED) !== 0n)
    throw notAsDeclared('it is damaged or uses features Weir does not know')
  const size = header.readBigUInt64BE(QCOW2_SIZE_AT)
  if (size === 0n || size > BigInt(Number.MAX_SAFE_INTEGER))
    throw notAsDeclared('its size is wrong')
  return Number(size)
}

function refuseOtherFormats(header: Buffer): void {
  for (const { name, at, magic } of OTHER_FORMATS) {
    if (header.subarray(at, at + magic.length).equals(magic))
      throw notAsDeclared(`it is declared raw and looks like ${name}`)
  }
}

function notAsDeclared(why: string): Failure {
  return new Failure('invalid', `The image cannot be used: ${why}.`)
}
