import type { DiskBytes } from './disk-bytes.ts'
import { ENTRY_BYTES, entryFor } from './layout.ts'

export const CLUSTER_BYTES = 65_536
const PER_TABLE = CLUSTER_BYTES / ENTRY_BYTES

/** What a disk has by the number of the cluster: the byte that fills it, or zeros that are written down as such. */
export type Clusters = Readonly<Record<number, number | 'zero'>>

/** A qcow2 file, of at most 512 MiB of disk, that has these clusters and no others. */
export function qcow2Of(clusters: Clusters, virtualClusters = 64): Buffer {
  const numbers = Object.keys(clusters).map(Number)
  const filled = numbers.filter((nth) => clusters[nth] !== 'zero')
  // The header, the table of references, their block, L1, L2, and the data.
  const file = Buffer.alloc((5 + filled.length) * CLUSTER_BYTES)
  file.write('QFI\xfb', 0, 'latin1')
  file.writeUInt32BE(3, 4)
  file.writeUInt32BE(16, 20)
  file.writeBigUInt64BE(BigInt(virtualClusters * CLUSTER_BYTES), 24)
  file.writeUInt32BE(1, 36)
  file.writeBigUInt64BE(BigInt(3 * CLUSTER_BYTES), 40)
  file.writeBigUInt64BE(BigInt(CLUSTER_BYTES), 48)
  file.writeUInt32BE(1, 56)
  file.writeUInt32BE(4, 96)
  file.writeUInt32BE(104, 100)
  file.writeBigUInt64BE(BigInt(2 * CLUSTER_BYTES), CLUSTER_BYTES)
  for (let nth = 0; nth < file.length / CLUSTER_BYTES; nth += 1)
    file.writeUInt16BE(1, 2 * CLUSTER_BYTES + 2 * nth)
  file.writeBigUInt64BE(entryFor(4 * CLUSTER_BYTES), 3 * CLUSTER_BYTES)
  for (const nth of numbers) {
    const at = (5 + filled.indexOf(nth)) * CLUSTER_BYTES
    const value = clusters[nth]
    file.writeBigUInt64BE(
      value === 'zero' ? 1n : entryFor(at),
      4 * CLUSTER_BYTES + nth * ENTRY_BYTES,
    )
    if (value !== 'zero') file.fill(value!, at, at + CLUSTER_BYTES)
  }
  return file
}

/** The first byte of each cluster of the disk, as the tables of the file say. */
export function firstBytesOf(file: Buffer, virtualClusters = 64): readonly number[] {
  const tables = Number(file.readBigUInt64BE(40))
  return Array.from({ length: virtualClusters }, (_, nth) => {
    const l2 = placed(file.readBigUInt64BE(tables + Math.floor(nth / PER_TABLE) * ENTRY_BYTES))
    if (l2 === 0) return 0
    const entry = file.readBigUInt64BE(l2 + (nth % PER_TABLE) * ENTRY_BYTES)
    const at = (entry & 1n) === 1n ? 0 : placed(entry)
    return at === 0 ? 0 : file[at]!
  })
}

function placed(entry: bigint): number {
  return Number(entry & 0x00ff_ffff_ffff_fe00n)
}

export function bytesOf(file: Buffer): DiskBytes {
  return {
    sizeBytes: file.length,
    read: async (first, length) => file.subarray(first, first + length),
    async *stream() {
      // Not in step with clusters.
      for (let at = 0; at < file.length; at += 100_003) yield file.subarray(at, at + 100_003)
    },
  }
}

export async function contentOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
