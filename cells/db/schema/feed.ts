import { sql } from 'drizzle-orm'
import { bigint, index, int, mediumtext, mysqlTable } from 'drizzle-orm/mysql-core'
import { time, uuid } from '#common/db/columns.ts'

/** Changes for the gateways. Committed without number; the relay numbers them, as commit order has none. */
export const feed = mysqlTable(
  'feed',
  {
    id: uuid('id').primaryKey(),
    /** The row's number; 0 before it is numbered. */
    n: bigint('n', { mode: 'number' }).notNull().default(0),
    /** FeedBody as JSON text: it is only ever passed on. */
    body: mediumtext('body').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('feed_n').on(t.n)],
)

/** One row with the position of the feed. Its lock keeps the numbers free of holes and repetitions. */
export const feedState = mysqlTable('feed_state', {
  id: int('id').primaryKey(),
  /** Random, new with the database: positions of another incarnation mean nothing. */
  incarnation: uuid('incarnation').notNull(),
  /** What the database says of later times is complete: it was not restored since. */
  beganAt: time('began_at').notNull().default(sql`now(3)`),
  /** The highest number given. */
  last: bigint('last', { mode: 'number' }).notNull(),
  /** The highest number the gateways have applied. */
  acknowledged: bigint('acknowledged', { mode: 'number' }).notNull(),
  /** The highest number that has been removed. */
  removed: bigint('removed', { mode: 'number' }).notNull(),
})
