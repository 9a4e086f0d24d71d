export interface BatchLimits {
  /** Of one batch: a smaller one was the last. */
  readonly rows: number
  /** The rows left then are for the next call. */
  readonly batchesMax: number
  readonly signal?: AbortSignal
}

/** Repeats a batch, given its size, until one finds less than that; returns how much there was in all. */
export async function inBatches(
  { rows, batchesMax, signal }: BatchLimits,
  batch: (rows: number) => Promise<number>,
): Promise<number> {
  let total = 0
  for (let batches = 0; batches < batchesMax; batches += 1) {
    signal?.throwIfAborted()
    const count = await batch(rows)
    total += count
    if (count < rows) break
  }
  return total
}
