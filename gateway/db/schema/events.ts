import { bigint, index, int, mediumtext, mysqlTable } from 'drizzle-orm/mysql-core'
import { time, token, uuid } from '#common/db/columns.ts'

/** Events without a number yet: written with the change that they describe, and moved to `events` once committed. */
export const eventInbox = mysqlTable('event_inbox', {
  id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(),
  type: token('type', 32).notNull(),
  at: time('at').notNull(),
  serverId: uuid('server_id'),
  volumeId: uuid('volume_id'),
  /** Of what may be gone when it gets its number; null: that of its server. */
  projectId: token('project_id'),
  cellId: uuid('cell_id'),
  /** EventDetails as JSON text: it is only ever passed on. */
  details: mediumtext('details').notNull(),
})

/** Events, in the order in which they were committed. Rows are only added, and purged from the oldest on. */
export const events = mysqlTable(
  'events',
  {
    n: bigint('n', { mode: 'number' }).primaryKey(),
    type: token('type', 32).notNull(),
    at: time('at').notNull(),
    projectId: token('project_id'),
    serverId: uuid('server_id'),
    volumeId: uuid('volume_id'),
    cellId: uuid('cell_id'),
    details: mediumtext('details').notNull(),
  },
  (t) => [
    index('events_project').on(t.projectId),
    index('events_server').on(t.serverId),
    index('events_volume').on(t.volumeId),
    index('events_cell').on(t.cellId),
    index('events_type').on(t.type),
  ],
)

/** One row, where notifications are on: how far they are sent. */
export const notificationState = mysqlTable('notification_state', {
  id: int('id').primaryKey(),
  /** The number of the last event that was sent, or is not to be. Gateways compare and set it. */
  upTo: bigint('up_to', { mode: 'number' }).notNull(),
})

/** One row: where the events stand. Changing it is what keeps numbers free of holes and repetitions. */
export const eventState = mysqlTable('event_state', {
  id: int('id').primaryKey(),
  /** The highest number given. */
  last: bigint('last', { mode: 'number' }).notNull(),
  /** The highest number that has been purged. */
  removed: bigint('removed', { mode: 'number' }).notNull(),
})
