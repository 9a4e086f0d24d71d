import type { DiskBytes } from './disk-bytes.ts'

/** What a file has at a position instead of what was there: bytes, zeros, or a part of the file with the changes. */
export type Patch = { readonly at: number } & (
  | { readonly bytes: Buffer }
  | { readonly zeroBytes: number }
  | { readonly from: number; readonly bytesOf: number }
)

/** A power of two that clusters fit into, so that no patch is in two blocks. */
const BLOCK_BYTES = 2 ** 20

/** The bytes of `before`, as long as that, with the patches, which are in the order of their positions. */
export async function* patched(
  before: DiskBytes,
  changes: DiskBytes,
  patches: readonly Patch[],
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  let next = 0
  let at = 0
  for await (const block of blocksOf(before.stream(), sizeBytes)) {
    const inBlock: Patch[] = []
    for (let patch = patches[next]; patch !== undefined; patch = patches[next]) {
      if (patch.at >= at + block.length) break
      inBlock.push(patch)
      next += 1
    }
    await apply(block, at, changes, inBlock)
    yield block
    at += block.length
  }
}

/** The same bytes in blocks, which the caller may write, with zeros behind them up to that size. */
async function* blocksOf(
  stream: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  let left = sizeBytes
  let block = Buffer.alloc(Math.min(BLOCK_BYTES, left))
  let filled = 0
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; ) {
      const part = chunk.subarray(from, from + block.length - filled)
      if (part.length === 0) return
      block.set(part, filled)
      filled += part.length
      from += part.length
      if (filled < block.length) continue
      yield block
      left -= block.length
      block = Buffer.alloc(Math.min(BLOCK_BYTES, left))
      filled = 0
    }
  }
  while (left > 0) {
    yield block
    left -= block.length
    block = Buffer.alloc(Math.min(BLOCK_BYTES, left))
  }
}

/** Parts of the changes that follow one another in both files are read at once. */
async function apply(
  block: Buffer,
  at: number,
  changes: DiskBytes,
  patches: readonly Patch[],
): Promise<void> {
  let run: { to: number; from: number; length: number } | undefined
  const flush = async () => {
    if (run === undefined) return
    const { to, from, length } = run
    run = undefined
    const part = block.subarray(to, to + length)
    const found = await changes.read(from, length)
    part.fill(0)
    part.set(found.subarray(0, part.length))
  }
  for (const patch of patches) {
    const to = patch.at - at
    if ('bytes' in patch) block.set(patch.bytes, to)
    else if ('zeroBytes' in patch) block.fill(0, to, to + patch.zeroBytes)
    else if (run !== undefined && isNext(run, to, patch.from)) run.length += patch.bytesOf
    else {
      await flush()
      run = { to, from: patch.from, length: patch.bytesOf }
    }
  }
  await flush()
}

function isNext(
  run: { readonly to: number; readonly from: number; readonly length: number },
  to: number,
  from: number,
): boolean {
  return to === run.to + run.length && from === run.from + run.length
}
