import { index, int, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Servers of which backups are made by a schedule. */
export const serverProtections = mysqlTable(
  'server_protections',
  {
    serverId: uuid('server_id').primaryKey(),
    projectId: token('project_id').notNull(),
    /** Who wanted it: the owner of the backups is the server's project. */
    userId: token('user_id').notNull(),
    everyS: int('every_s').notNull(),
    /** How many backups are kept. */
    keep: int('keep').notNull(),
    /** Gateways compare and set it before they begin a backup. */
    nextAt: time('next_at').notNull(),
    /** When the last backup began, and its image; null: none has. */
    lastAt: time('last_at'),
    lastImageId: uuid('last_image_id'),
    /** Why the last try made none; null: it did. */
    lastError: text255('last_error'),
    /** The cell that is to keep the newest backup too; null: none. */
    toCellId: uuid('to_cell_id'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    index('server_protections_next').on(t.nextAt),
    index('server_protections_project').on(t.projectId),
  ],
)

/** Cells that may keep an image of a server: the one that its protection names, and former ones until they have let go of it. */
export const serverReplicas = mysqlTable(
  'server_replicas',
  {
    serverId: uuid('server_id').notNull(),
    cellId: uuid('cell_id').notNull(),
    /** The image that the cell keeps, and when that was made; null: none yet. */
    imageId: uuid('image_id'),
    imageAt: time('image_at'),
    /** Why the cell does not keep the newest; null: it does. */
    lastError: text255('last_error'),
    /** When the cell is asked again, which gateways compare and set before they do. */
    nextAt: time('next_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.serverId, t.cellId] }),
    index('server_replicas_next').on(t.nextAt),
  ],
)

/** Servers whose guest has ended by itself, whatever their placement policy says of that. */
export const guestRestarts = mysqlTable(
  'guest_restarts',
  {
    serverId: uuid('server_id').primaryKey(),
    /** In a row, each soon after the one before. */
    restarts: int('restarts').notNull(),
    restartedAt: time('restarted_at'),
    /** When it may be started again, which gateways compare and set before they do; null: nothing is to be done. */
    dueAt: time('due_at'),
  },
  (t) => [index('guest_restarts_due').on(t.dueAt)],
)
