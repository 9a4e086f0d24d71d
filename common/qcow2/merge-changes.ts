import type { DiskBytes } from './disk-bytes.ts'
import {
  ENTRY_BYTES,
  entriesOf,
  entryFor,
  placeOf,
  type Qcow2Layout,
  readAll,
  readLayout,
  refused,
  tableAt,
} from './layout.ts'
import { countNewClusters } from './new-clusters.ts'
import { type Patch, patched } from './patched.ts'

/** An image file that is made from two others as it is read. */
export interface MergedDisk {
  readonly sizeBytes: number
  stream(): AsyncIterable<Uint8Array>
}

/**
 * The disk of `before` with the clusters that `changes` has, as a qcow2 file: `before` from its first byte to its last with
 * these clusters in their places, and those that it has no place for behind it. So it is read once from front to back, and
 * the same two files give the same bytes everywhere. Throws `invalid` for files that cannot be merged so.
 */
export async function mergeChanges(before: DiskBytes, changes: DiskBytes): Promise<MergedDisk> {
  const [old, given] = await Promise.all([readLayout(before), readLayout(changes)])
  if (old.clusterBytes !== given.clusterBytes || old.virtualBytes !== given.virtualBytes)
    throw refused('the disk had another size before')
  const merge = new Merge(before, changes, old, given)
  await merge.plan()
  const patches = await countNewClusters(before, old, merge.endBytes)
  const endBytes = Math.max(
    merge.endBytes,
    ...patches.filter(({ isNew }) => isNew).map(({ at }) => at + old.clusterBytes),
  )
  const all = [...merge.patches, ...patches].toSorted((a, b) => a.at - b.at)
  return { sizeBytes: endBytes, stream: () => patched(before, changes, all, endBytes) }
}

/** Finds out what of the former file is overwritten, and what comes behind it. */
class Merge {
  readonly patches: Patch[] = []
  /** Where the next cluster behind the former file has its place. */
  endBytes: number
  readonly #before: DiskBytes
  readonly #changes: DiskBytes
  readonly #old: Qcow2Layout
  readonly #given: Qcow2Layout

  constructor(before: DiskBytes, changes: DiskBytes, old: Qcow2Layout, given: Qcow2Layout) {
    this.#before = before
    this.#changes = changes
    this.#old = old
    this.#given = given
    this.endBytes = Math.ceil(before.sizeBytes / old.clusterBytes) * old.clusterBytes
  }

  async plan(): Promise<void> {
    const { clusterBytes } = this.#old
    const seen = new Set<number>()
    for (const [nth, entry] of this.#given.l1.entries()) {
      const at = tableAt(entry, clusterBytes)
      if (at === 0) continue
      if (seen.has(at)) throw refused('a table of an image is shared or in a wrong place')
      seen.add(at)
      const table = entriesOf(await readAll(this.#changes, at, clusterBytes))
      if (table.some((each) => each !== 0n)) await this.#mergeTable(nth, table)
    }
  }

  async #mergeTable(nth: number, given: readonly bigint[]): Promise<void> {
    const { clusterBytes, l1, l1Offset } = this.#old
    const tableOffset = tableAt(l1[nth] ?? 0n, clusterBytes)
    const table =
      tableOffset === 0
        ? Buffer.alloc(clusterBytes)
        : Buffer.from(await readAll(this.#before, tableOffset, clusterBytes))
    let isChanged = false
    for (const [index, entry] of given.entries()) {
      if (entry === 0n) continue
      const written = this.#mergeCluster(entry, table.readBigUInt64BE(index * ENTRY_BYTES))
      if (written === undefined) continue
      table.writeBigUInt64BE(written, index * ENTRY_BYTES)
      isChanged = true
    }
    if (!isChanged) return
    if (tableOffset !== 0) return void this.patches.push({ at: tableOffset, bytes: table })
    const bytes = Buffer.alloc(ENTRY_BYTES)
    bytes.writeBigUInt64BE(entryFor(this.endBytes))
    this.patches.push({ at: l1Offset + nth * ENTRY_BYTES, bytes })
    this.#append({ bytes: table })
  }

  /** The new entry of the cluster; undefined: it stays as it was. */
  #mergeCluster(given: bigint, former: bigint): bigint | undefined {
    const { clusterBytes } = this.#old
    const [now, before] = [placeOf(given, clusterBytes), placeOf(former, clusterBytes)]
    if (now.is === 'absent') return undefined
    if (now.is === 'zero') {
      // Overwritten, so that what was there is not in the image any more.
      if (before.is === 'data') this.#patch({ at: before.at, zeroBytes: clusterBytes })
      return undefined
    }
    if (now.at >= this.#changes.sizeBytes) throw refused('an image is cut short')
    const from = { from: now.at, bytesOf: clusterBytes }
    if (before.is !== 'absent' && before.at !== 0) {
      this.#patch({ at: before.at, ...from })
      return before.is === 'data' ? undefined : entryFor(before.at)
    }
    return entryFor(this.#append(from))
  }

  #patch(patch: Patch): void {
    const isInside = patch.at < this.#before.sizeBytes
    if (!isInside) throw refused('an image is cut short')
    this.patches.push(patch)
  }

  #append(what: { readonly bytes: Buffer } | { readonly from: number; readonly bytesOf: number }) {
    const at = this.endBytes
    this.patches.push({ at, ...what })
    this.endBytes += this.#old.clusterBytes
    return at
  }
}
