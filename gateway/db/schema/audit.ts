import { bigint, index, int, mysqlTable } from 'drizzle-orm/mysql-core'
import { fixedToken, text255, time, token, uuid } from '#common/db/columns.ts'

/** Who asked for which change, and how that was answered. Rows are only ever added, and purged when they are old. */
export const auditRecords = mysqlTable(
  'audit_records',
  {
    n: bigint('n', { mode: 'number' }).autoincrement().primaryKey(),
    at: time('at').notNull(),
    userId: token('user_id').notNull(),
    userName: text255('user_name').notNull(),
    projectId: token('project_id'),
    action: token('action', 128).notNull(),
    target: text255('target').notNull(),
    status: int('status').notNull(),
    requestId: token('request_id').notNull(),
    /** Null where the request was not traced. */
    traceId: fixedToken('trace_id', 32),
    /** Makes writing a record twice writing it once; null in rows of releases before. */
    recordId: uuid('record_id').unique('audit_records_record'),
  },
  (t) => [
    index('audit_records_at').on(t.at),
    index('audit_records_user').on(t.userId),
    index('audit_records_project').on(t.projectId),
    index('audit_records_request').on(t.requestId),
    index('audit_records_action').on(t.action),
  ],
)
