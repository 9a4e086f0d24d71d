import { withinBytes } from '#common/bus/within-bytes.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { acknowledgeFeed, feedAfter, readFeedState } from '../db/feed.ts'

/** Rows after a position, in order, as many as fit a page; what lies before it is taken as applied. */
export async function feedRead(
  { conductor, incarnation }: Cell,
  ask: CellAsk<'feed.read'>,
): Promise<CellAnswer<'feed.read'>> {
  const { db } = conductor
  if (ask.incarnation === incarnation) await acknowledgeFeed(db, ask.after)
  const rows = await feedAfter(db, ask.after, ask.limit)
  // Read last: rows that were trimmed while these were read are a gap, too.
  const { last, removed } = await readFeedState(db)
  const isGap = ask.incarnation !== incarnation || ask.after < removed || ask.after > last
  return { incarnation, isGap, last, rows: isGap ? [] : [...withinBytes(rows)] }
}
