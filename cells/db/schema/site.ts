import { int, json, mysqlTable } from 'drizzle-orm/mysql-core'

/** One row with what the cell has heard of the sites of its deployment. */
export const knownSite = mysqlTable('known_site', {
  id: int('id').primaryKey(),
  /** The highest that a gateway has named. Requests with a lower one are refused. */
  generation: int('generation').notNull(),
  /** SiteAnnouncement; null: none has come yet. */
  announcement: json('announcement'),
})
