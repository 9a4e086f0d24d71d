import type { DiskBytes } from './disk-bytes.ts'
import { ENTRY_BYTES, type Qcow2Layout, readAll, refcountBlockAt, refused } from './layout.ts'
import type { Patch } from './patched.ts'

const REFCOUNT_BYTES = 2

/** A block of references, or an entry of their table; `isNew`: it is a cluster of its own, behind all others. */
export type RefcountPatch = Patch & { readonly at: number; readonly isNew: boolean }

/**
 * What has to be written so that each cluster from the end of the former file to `endBytes` is referred to once, and so are
 * the clusters that this takes. Throws `invalid` where the former file counts references to clusters that it does not have.
 */
export async function countNewClusters(
  before: DiskBytes,
  layout: Qcow2Layout,
  endBytes: number,
): Promise<readonly RefcountPatch[]> {
  const { clusterBytes, refcountTable, refcountTableOffset } = layout
  const perBlock = clusterBytes / REFCOUNT_BYTES
  const first = Math.ceil(before.sizeBytes / clusterBytes)
  const blocks = new Map<number, { at: number; readonly bytes: Buffer; readonly isNew: boolean }>()
  const entries: RefcountPatch[] = []
  // Those that the former file has: nothing may be counted where it ends.
  for (const [nth, entry] of refcountTable.entries()) {
    const at = refcountBlockAt(entry, clusterBytes)
    if (at === 0 || (nth + 1) * perBlock <= first) continue
    const bytes = Buffer.from(await readAll(before, at, clusterBytes))
    const from = Math.max(first - nth * perBlock, 0) * REFCOUNT_BYTES
    if (bytes.subarray(from).some((byte) => byte !== 0))
      throw refused('an image counts data that it does not have')
    blocks.set(nth, { at, bytes, isNew: false })
  }
  let end = endBytes / clusterBytes
  for (let cluster = first; cluster < end; cluster += 1) {
    const nth = Math.floor(cluster / perBlock)
    let block = blocks.get(nth)
    if (block === undefined) {
      if (nth >= refcountTable.length) throw refused('an image has no room in its tables')
      block = { at: end * clusterBytes, bytes: Buffer.alloc(clusterBytes), isNew: true }
      blocks.set(nth, block)
      end += 1
      const bytes = Buffer.alloc(ENTRY_BYTES)
      bytes.writeBigUInt64BE(BigInt(block.at))
      entries.push({ at: refcountTableOffset + nth * ENTRY_BYTES, bytes, isNew: false })
    }
    block.bytes.writeUInt16BE(1, (cluster - nth * perBlock) * REFCOUNT_BYTES)
  }
  if (end === first) return []
  return [...entries, ...blocks.values()]
}
