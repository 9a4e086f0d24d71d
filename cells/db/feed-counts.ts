import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'

export interface FeedCounts {
  /** The highest number given. */
  readonly last: number
  /** Rows that have none yet. */
  readonly unnumbered: number
}

const COUNT = sqlStatement(
  sql`select last, (select count(*) from feed where n = 0) as unnumbered from feed_state`,
)

/** How far the cell's change feed is. */
export async function feedCounts(db: Executor): Promise<FeedCounts> {
  const [row] = await db.rows<FeedCounts>(COUNT, {})
  if (row === undefined) throw new Error('The feed has no state row')
  return row
}
