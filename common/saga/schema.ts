import { index, int, json, mysqlTable, text } from 'drizzle-orm/mysql-core'
import { fixedToken, time, token, uuid } from '../db/columns.ts'
import type { LogRow } from './progress.ts'

/** Whether a process executes the saga; `suspect`: a process ended while it did, and the saga may be the cause. */
export type SagaExecution = 'idle' | 'active' | 'suspect'

/** One row per saga. `owner` and `generation` fence: a change by anyone else matches no row and so fails. */
export const sagas = mysqlTable(
  'sagas',
  {
    id: uuid('id').primaryKey(),
    name: token('name').notNull(),
    version: int('version').notNull(),
    state: fixedToken('state', 9).notNull(),
    /** The object of the saga, usually a server; for operators. */
    subject: token('subject').notNull(),
    params: json('params').notNull(),
    work: json('work').notNull(),
    /** `LogRow`s of started steps and their results, in order, without a successful end; the owner only appends. */
    log: json('log').$type<readonly LogRow[]>().notNull(),
    owner: token('owner').notNull(),
    generation: int('generation').notNull(),
    /** A suspect stays one until it completes another step. */
    execution: fixedToken('execution', 7).$type<SagaExecution>().notNull().default('idle'),
    /** Why it is stuck. */
    why: text('why'),
    /**
     * Not resumed before this time: a remote that did not answer is asked again later. For a saga that is over, the
     * time of its end.
     */
    resumeAt: time('resume_at').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('sagas_state').on(t.state, t.resumeAt)],
)

/** Named leases: one per process that executes sagas, one per job that only one process may do. */
export const leases = mysqlTable('leases', {
  name: token('name').primaryKey(),
  holder: token('holder').notNull(),
  generation: int('generation').notNull(),
  expiresAt: time('expires_at').notNull(),
})
