import { bigint, double, index, mysqlTable, uniqueIndex } from 'drizzle-orm/mysql-core'
import { time, token, uuid } from '#common/db/columns.ts'

/** When volumes, images and floating IPs were there, how large they were, and whose: a change ends a run and begins another. */
export const resourceRuns = mysqlTable(
  'resource_runs',
  {
    id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(),
    /** volume, image, floating-ip. */
    kind: token('kind', 16).notNull(),
    resourceId: uuid('resource_id').notNull(),
    /** The same while the run goes on; null: it has ended. So there is one at a time. */
    openId: uuid('open_id'),
    projectId: token('project_id').notNull(),
    /** Null: it is in none. */
    cellId: uuid('cell_id'),
    /** GiB; of a floating IP 1. */
    amount: double('amount').notNull(),
    startedAt: time('started_at').notNull(),
    endedAt: time('ended_at'),
  },
  (t) => [
    uniqueIndex('resource_runs_open').on(t.kind, t.openId),
    index('resource_runs_resource').on(t.kind, t.resourceId, t.endedAt),
    index('resource_runs_ended').on(t.endedAt),
  ],
)
