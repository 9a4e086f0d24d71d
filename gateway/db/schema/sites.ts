import { int, mysqlTable, text } from 'drizzle-orm/mysql-core'
import { time, token } from '#common/db/columns.ts'

/** The sites of the deployment: each is a control plane of its own, with a copy of this database. */
export const sites = mysqlTable('sites', {
  name: token('name', 32).primaryKey(),
  /** Where clients, cells and hosts reach its gateways. */
  url: token('url', 255).notNull(),
  /** `HOST:PORT` of each of its database servers, with commas between them. */
  databases: token('database_servers', 255).notNull(),
  createdAt: time('created_at').notNull(),
})

/** One row with the site that is active; none in a deployment of one site without a name. */
export const activeSite = mysqlTable('active_site', {
  id: int('id').primaryKey(),
  name: token('name', 32).notNull(),
  /** Grows with every promotion. */
  generation: int('generation').notNull(),
  /** How the site before was stopped, in the operator's words. */
  statement: text('statement'),
  promotedAt: time('promoted_at').notNull(),
  // Set where the gateways of this site learned that another one was promoted, which this database does not show.
  succeededBy: token('succeeded_by', 32),
  succeededUrl: token('succeeded_url', 255),
  succeededGeneration: int('succeeded_generation'),
})
