import type { Msg } from '@nats-io/transport-node'
import { PAGE_MAX_BYTES } from '#common/bus/within-bytes.ts'
import { Failure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import { FeedBatch, type FeedRow } from '#openapi/wire/feed.ts'
import type { FeedPosition } from '../../db/cell-mappings.ts'

/** More waiting rows than this are dropped: they can be asked for again. */
const WAITING_MAX = 20_000

/** Of one batch that is read. A cell publishes half of these bytes, unless one row is longer, and a fifth of these rows. */
const BATCH_BYTES_MAX = 2 * PAGE_MAX_BYTES
const BATCH_ROWS_MAX = 1_000

/** Throws `invalid` for what no cell publishes. Its length is looked at first: reading it takes time from all others. */
export function readBatch(message: Pick<Msg, 'data' | 'json'>): FeedBatch {
  const bytes = message.data.length
  if (bytes > BATCH_BYTES_MAX)
    throw new Failure('invalid', `A feed batch of ${bytes} bytes; ${BATCH_BYTES_MAX} are read.`)
  const batch = checked(FeedBatch, message.json(), 'feed batch')
  const count = batch.rows.length
  if (count > BATCH_ROWS_MAX)
    throw new Failure('invalid', `A feed batch of ${count} rows; ${BATCH_ROWS_MAX} are read.`)
  return batch
}

/** Published batches that wait to be applied. */
export class FeedQueue {
  #batches: FeedBatch[] = []
  #waiting = 0
  #hasDropped = false

  push(batch: FeedBatch): void {
    if (this.#waiting + batch.rows.length > WAITING_MAX) {
      this.#hasDropped = true
      return
    }
    this.#batches.push(batch)
    this.#waiting += batch.rows.length
  }

  clear(): void {
    this.#batches = []
    this.#waiting = 0
    this.#hasDropped = false
  }

  /**
   * The next rows that follow on `at` without a hole, at most `max` and then the rest of a batch; those known already
   * are skipped. `isGap`: something before what was published next is missing, so it was dropped.
   */
  take(at: FeedPosition, max: number): { rows: readonly FeedRow[]; isGap: boolean } {
    const rows: FeedRow[] = []
    let isGap = this.#hasDropped
    this.#hasDropped = false
    let last = at.position
    while (rows.length < max) {
      const batch = this.#batches.shift()
      if (batch === undefined) break
      this.#waiting -= batch.rows.length
      const fresh = batch.rows.filter(({ n }) => n > last)
      if (batch.incarnation !== at.incarnation || !follows(fresh, last)) {
        isGap = true
        continue
      }
      rows.push(...fresh)
      last = fresh.at(-1)?.n ?? last
    }
    return { rows, isGap }
  }
}

function follows(rows: readonly FeedRow[], last: number): boolean {
  return rows.every(({ n }, index) => n === last + index + 1)
}
