import { index, int, json, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** One row per change of a server's host or size that was ever begun here. */
export const serverMigrations = mysqlTable(
  'server_migrations',
  {
    id: uuid('id').primaryKey(),
    serverId: uuid('server_id').notNull(),
    /** Grows with every change. */
    version: int('version').notNull(),
    type: token('type', 16).notNull(),
    status: token('status', 16).notNull(),
    sourceHost: token('source_host'),
    sourceNode: text255('source_node'),
    destHost: token('dest_host'),
    destNode: text255('dest_node'),
    oldFlavorId: varchar('old_flavor_id', { length: 255 }).notNull(),
    newFlavorId: varchar('new_flavor_id', { length: 255 }).notNull(),
    userId: token('user_id').notNull(),
    projectId: token('project_id').notNull(),
    /** As in MigrationView; null: it holds nothing, or is of a release that did not write it down. */
    held: json('held'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [
    index('server_migrations_server').on(t.serverId, t.createdAt),
    index('server_migrations_updated').on(t.updatedAt),
    index('server_migrations_status').on(t.status),
  ],
)
