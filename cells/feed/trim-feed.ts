import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { oldestFeedRow, readFeedState, removeFeed } from '../db/feed.ts'
import type { Retention } from '../retention.ts'

const BATCH = 1_000

/**
 * Removes rows the gateways have applied, and those too old or too many to keep: a gateway that has not read them
 * gets a gap and reads a full copy. Works in batches of a bounded number. Returns how many.
 */
export async function trimFeed(
  db: Transactional,
  clock: Clock,
  { feedMs, feedRowsMax }: Pick<Retention, 'feedMs' | 'feedRowsMax'>,
  batchesMax: number,
): Promise<number> {
  let removed = 0
  for (let batch = 0; batch < batchesMax; batch += 1) {
    const oldest = await oldestFeedRow(db)
    if (oldest === undefined) break
    const state = await readFeedState(db)
    const isOld = clock.now() - oldest.createdAt.getTime() > feedMs
    const upTo = Math.max(
      state.acknowledged,
      state.last - feedRowsMax,
      // Age is looked at where the batch begins: a batch may take some younger rows with it.
      isOld ? oldest.n + BATCH - 1 : 0,
    )
    const position = Math.min(upTo, oldest.n + BATCH - 1, state.last)
    if (position < oldest.n) break
    removed += await removeFeed(db, position, BATCH)
  }
  return removed
}
