import { index, int, json, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { time, token, uuid } from '../db/columns.ts'

/** One row per saga. `owner` and `generation` fence: an append by anyone else changes no row and so fails. */
export const sagas = mysqlTable(
  'sagas',
  {
    id: uuid('id').primaryKey(),
    name: token('name').notNull(),
    version: int('version').notNull(),
    state: token('state', 16).notNull(),
    /** What the saga is about, usually a server; for operators and for finding who is moving it. */
    subject: token('subject').notNull(),
    params: json('params').notNull(),
    work: json('work').notNull(),
    owner: token('owner').notNull(),
    generation: int('generation').notNull(),
    /** Not taken up before this: a remote that did not answer is asked again later. */
    resumeAt: time('resume_at').notNull(),
    createdAt: time('created_at').notNull(),
    endedAt: time('ended_at'),
  },
  (t) => [
    index('sagas_state').on(t.state, t.resumeAt),
    index('sagas_subject').on(t.subject),
    index('sagas_ended').on(t.endedAt),
  ],
)

/** Append-only log: what was started, what came out. */
export const sagaEvents = mysqlTable(
  'saga_events',
  {
    sagaId: uuid('saga_id').notNull(),
    step: token('step').notNull(),
    event: token('event', 16).notNull(),
    data: json('data'),
    at: time('at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.sagaId, t.step, t.event] })],
)

/** Named leases: one per process that executes sagas, one per job that only one process may do. */
export const leases = mysqlTable('leases', {
  name: token('name').primaryKey(),
  holder: token('holder').notNull(),
  generation: int('generation').notNull(),
  expiresAt: time('expires_at').notNull(),
})
