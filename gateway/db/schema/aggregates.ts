import { index, int, json, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, uuid } from '#common/db/columns.ts'

/** Groups of hosts that operators created. The zone of a group is in its metadata, as in Nova. */
export const aggregates = mysqlTable('aggregates', {
  id: int('id').primaryKey().autoincrement(),
  lockVersion: lockVersion(),
  uuid: uuid('uuid').notNull().unique(),
  name: text255('name').notNull().unique(),
  metadata: json('metadata').$type<Readonly<Record<string, string>>>().notNull(),
  createdAt: time('created_at').notNull(),
  updatedAt: time('updated_at'),
})

export const aggregateHosts = mysqlTable(
  'aggregate_hosts',
  {
    aggregateId: int('aggregate_id').notNull(),
    hostId: uuid('host_id').notNull(),
    /** By which the host is shown and taken out again. */
    name: text255('name').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.aggregateId, t.hostId] }),
    index('aggregate_hosts_by_host').on(t.hostId),
  ],
)
