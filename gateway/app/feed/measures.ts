import { type Measure, measure } from '#common/metrics/measure.ts'
import type { FeedRow } from '#openapi/wire/feed.ts'

export interface AppliedRows {
  /** The cell's name. */
  readonly cell: string
  readonly rows: readonly FeedRow[]
}

/** Rows of a cell's feed whose transaction has committed. */
export const appliedMeasure: Measure<AppliedRows> = measure('feed rows applied')
