import { index, int, mysqlTable } from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token, uuid } from '#common/db/columns.ts'

/** Rules of users about the hosts of their servers relative to each other. */
export const serverGroups = mysqlTable(
  'server_groups',
  {
    id: uuid('id').primaryKey(),
    lockVersion: lockVersion(),
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    name: text255('name').notNull(),
    policy: token('policy', 20).notNull(),
    /** As the user set it; null: not at all, which means 1. */
    maxPerHost: int('max_per_host'),
    /** Where its servers are, for the policies that want them together; null: nowhere yet. */
    cellId: uuid('cell_id'),
    /** Orders lists. */
    serial: int('serial').notNull().autoincrement().unique(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('server_groups_by_project').on(t.projectId, t.serial)],
)

/** A server is in one group at most, from its acceptance until it is gone. */
export const serverGroupMembers = mysqlTable(
  'server_group_members',
  {
    serverId: uuid('server_id').primaryKey(),
    groupId: uuid('group_id').notNull(),
    userId: token('user_id').notNull(),
  },
  (t) => [index('server_group_members_by_group').on(t.groupId)],
)
