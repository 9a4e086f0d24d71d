import { index, int, mysqlTable } from 'drizzle-orm/mysql-core'
import { time, token, uuid } from '#common/db/columns.ts'

/** Consoles that may be opened, once, or are open: the row is removed when the console is closed. */
export const consoleSessions = mysqlTable(
  'console_sessions',
  {
    id: uuid('id').primaryKey(),
    /** SHA-256 of the token; only the first answer has the token itself. */
    tokenHash: token('token_hash').notNull().unique(),
    /** SHA-256 of the token of identity with which it was asked for: the console ends with it. */
    callerTokenHash: token('caller_token_hash').notNull(),
    // The guest it is for, and no other: not the same server's guest elsewhere, or later.
    serverId: uuid('server_id').notNull(),
    attempt: int('attempt').notNull(),
    cellId: uuid('cell_id').notNull(),
    hostId: uuid('host_id').notNull(),
    kind: token('kind', 8).notNull(),
    projectId: token('project_id').notNull(),
    /** The token opens nothing afterwards. */
    expiresAt: time('expires_at').notNull(),
    /** Renewed by the gateway that serves the console; null: the console has not been opened. */
    aliveUntil: time('alive_until'),
  },
  (t) => [
    index('console_sessions_project').on(t.projectId, t.aliveUntil),
    index('console_sessions_server').on(t.serverId),
    index('console_sessions_expires').on(t.expiresAt),
  ],
)
