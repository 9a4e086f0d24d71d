import { Failure } from '../errors.ts'
import type { DiskBytes } from './disk-bytes.ts'

/** QEMU docs/interop/qcow2.rst. */
const MAGIC = 0x514649fb
const HEADER_BYTES = 104
const VERSION = 3
const CLUSTER_BITS_MIN = 16
const CLUSTER_BITS_MAX = 20
const REFCOUNT_ORDER = 4
/** Of a table of entries of eight bytes each. */
export const ENTRY_BYTES = 8
const OFFSET_MASK = 0x00ff_ffff_ffff_fe00n
const COPIED = 1n << 63n
const COMPRESSED = 1n << 62n
const ZERO = 1n
/** Tables larger than these are of no disk that is saved here. */
const L1_BYTES_MAX = 4 * 2 ** 20
const REFCOUNT_TABLE_CLUSTERS_MAX = 64

/** Where a qcow2 file has its tables. */
export interface Qcow2Layout {
  readonly clusterBytes: number
  readonly virtualBytes: bigint
  readonly l1Offset: number
  readonly l1: readonly bigint[]
  readonly refcountTableOffset: number
  readonly refcountTable: readonly bigint[]
}

/** What a qcow2 file has of one cluster of its disk. */
export type ClusterPlace =
  | { readonly is: 'absent' }
  | { readonly is: 'zero'; readonly at: number }
  | { readonly is: 'data'; readonly at: number }

export function refused(why: string): Failure {
  return new Failure('invalid', `The changes of the disk cannot be applied: ${why}.`)
}

/**
 * Reads the header and the tables that it names. Throws `invalid` for a file that is not a qcow2 of version 3 on its own, as
 * QEMU's backup jobs make it, and for one with features that would make its tables mean something else.
 */
export async function readLayout(disk: DiskBytes): Promise<Qcow2Layout> {
  const header = await disk.read(0, HEADER_BYTES)
  if (header.length < HEADER_BYTES || header.readUInt32BE(0) !== MAGIC)
    throw refused('one of the images is no qcow2')
  refuseFeatures(header)
  const clusterBytes = 2 ** header.readUInt32BE(20)
  const virtualBytes = header.readBigUInt64BE(24)
  const l1Bytes = header.readUInt32BE(36) * ENTRY_BYTES
  const reach =
    BigInt(l1Bytes / ENTRY_BYTES) * BigInt(clusterBytes / ENTRY_BYTES) * BigInt(clusterBytes)
  if (l1Bytes > L1_BYTES_MAX || reach < virtualBytes)
    throw refused('a table of an image has a wrong size')
  const refcountClusters = header.readUInt32BE(56)
  if (refcountClusters > REFCOUNT_TABLE_CLUSTERS_MAX)
    throw refused('a table of an image has a wrong size')
  const l1Offset = Number(header.readBigUInt64BE(40))
  const refcountTableOffset = Number(header.readBigUInt64BE(48))
  if (l1Offset % clusterBytes !== 0 || refcountTableOffset % clusterBytes !== 0)
    throw refused('a table of an image is in a wrong place')
  return {
    ...{ clusterBytes, virtualBytes, l1Offset, refcountTableOffset },
    l1: entriesOf(await readAll(disk, l1Offset, l1Bytes)),
    refcountTable: entriesOf(
      await readAll(disk, refcountTableOffset, refcountClusters * clusterBytes),
    ),
  }
}

function refuseFeatures(header: Buffer): void {
  if (header.readUInt32BE(4) !== VERSION) throw refused('an image is of a former version of qcow2')
  const bits = header.readUInt32BE(20)
  if (bits < CLUSTER_BITS_MIN || bits > CLUSTER_BITS_MAX)
    throw refused('the clusters of an image have an unusual size')
  if (header.readBigUInt64BE(8) !== 0n) throw refused('an image has a backing file')
  if (header.readUInt32BE(32) !== 0) throw refused('an image is encrypted')
  if (header.readUInt32BE(60) !== 0) throw refused('an image has internal snapshots')
  // Incompatible features, and those that a program which does not know them has to clear.
  if (header.readBigUInt64BE(72) !== 0n || header.readBigUInt64BE(88) !== 0n)
    throw refused('an image has features that are not known')
  if (header.readUInt32BE(96) !== REFCOUNT_ORDER)
    throw refused('the references of an image have an unusual size')
}

/** Throws `invalid` where the file is shorter. */
export async function readAll(disk: DiskBytes, first: number, length: number): Promise<Buffer> {
  if (!Number.isSafeInteger(first) || first + length > disk.sizeBytes)
    throw refused('an image is cut short')
  const found = await disk.read(first, length)
  if (found.length !== length) throw refused('an image is cut short')
  return found
}

export function entriesOf(table: Buffer): readonly bigint[] {
  return Array.from({ length: table.length / ENTRY_BYTES }, (_, nth) =>
    table.readBigUInt64BE(nth * ENTRY_BYTES),
  )
}

/** Where the table or block is that an entry names; 0: there is none. Throws `invalid` for one that others may share. */
export function tableAt(entry: bigint, clusterBytes: number): number {
  const at = Number(entry & OFFSET_MASK)
  if (at === 0) return 0
  if (at % clusterBytes !== 0 || (entry & COPIED) === 0n)
    throw refused('a table of an image is shared or in a wrong place')
  return at
}

/** Where the cluster is that an entry of an L2 table is about. Throws `invalid` for a compressed one, and one that others may share. */
export function placeOf(entry: bigint, clusterBytes: number): ClusterPlace {
  if ((entry & COMPRESSED) !== 0n) throw refused('an image is compressed')
  const at = Number(entry & OFFSET_MASK)
  if (at % clusterBytes !== 0) throw refused('data of an image is in a wrong place')
  if (at !== 0 && (entry & COPIED) === 0n) throw refused('data of an image is shared')
  if ((entry & ZERO) !== 0n) return { is: 'zero', at }
  return at === 0 ? { is: 'absent' } : { is: 'data', at }
}

/** The entry for a table or a cluster there that nothing else refers to. */
export function entryFor(at: number): bigint {
  return BigInt(at) | COPIED
}

/** The place of a block of references, whose entries have no flags. */
export function refcountBlockAt(entry: bigint, clusterBytes: number): number {
  const at = Number(entry)
  if (!Number.isSafeInteger(at) || at % clusterBytes !== 0)
    throw refused('a table of an image is shared or in a wrong place')
  return at
}
