import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import type { Executor, Transactional } from '#common/db/database.ts'
import { rowsInsert } from '#common/db/insert-rows.ts'
import { sqlStatement } from '#common/db/statement.ts'
import { inSlices } from './keyset.ts'
import { auditRecords } from './schema/audit.ts'

/** A record with what it is known by while it is on its way into the database. */
export interface NewAuditRecord extends AuditRecord {
  readonly recordId: string
}

/** A request that was to change something, and how it was answered. */
export interface AuditRecord {
  readonly at: Date
  readonly userId: string
  readonly userName: string
  readonly projectId: string | null
  /** `service:operation`, as the documents name them. */
  readonly action: string
  /** The path asked for. */
  readonly target: string
  /** The HTTP status; from 400 on the change was not made, or only in part. */
  readonly status: number
  readonly requestId: string
  /** Null where the request was not traced; absent in files of releases before. */
  readonly traceId?: string | null
}

export interface NumberedRecord extends AuditRecord {
  readonly n: number
  readonly traceId: string | null
}

export interface AuditFilter {
  readonly userId?: string | undefined
  readonly projectId?: string | undefined
  readonly requestId?: string | undefined
  readonly action?: string | undefined
  readonly hasFailed?: boolean | undefined
}

/** The first status of a failure. */
const FAILURE = 400

const INSERT = rowsInsert(
  auditRecords,
  [
    ...(['at', 'userId', 'userName', 'projectId', 'action', 'target', 'status'] as const),
    ...(['requestId', 'traceId', 'recordId'] as const),
  ],
  { onDuplicate: sql`record_id = record_id` },
)
const PURGE = sqlStatement(
  sql`delete from audit_records where at < ${sql.placeholder('before')} limit ${sql.placeholder('max')}`,
)

/** Afterwards each record is there once, however often it is written. */
export async function insertAuditRecords(
  db: Transactional,
  records: readonly NewAuditRecord[],
): Promise<void> {
  const rows = records.map((record) => ({ ...record, traceId: record.traceId ?? null }))
  await db.transaction((tx) => INSERT.queue(tx, rows))
}

/** The newest first, from before a number. */
export async function listAuditRecords(
  db: Executor,
  filter: AuditFilter,
  before: number,
  max: number,
): Promise<readonly NumberedRecord[]> {
  return inSlices<NumberedRecord>(max, (limit, last) => {
    return db.orm
      .select()
      .from(auditRecords)
      .where(and(lt(auditRecords.n, last?.n ?? before), conditionOf(filter)))
      .orderBy(desc(auditRecords.n))
      .limit(limit)
  })
}

/** Removes at most `rows` records older than a time. */
export async function purgeAuditRecords(
  db: Executor,
  olderThan: Date,
  rows: number,
): Promise<number> {
  return (await db.run(PURGE, { before: olderThan, max: rows })).affectedRows
}

function conditionOf(filter: AuditFilter): SQL | undefined {
  const { userId, projectId, requestId, action, hasFailed } = filter
  const { status } = auditRecords
  return and(
    userId === undefined ? undefined : eq(auditRecords.userId, userId),
    projectId === undefined ? undefined : eq(auditRecords.projectId, projectId),
    requestId === undefined ? undefined : eq(auditRecords.requestId, requestId),
    action === undefined ? undefined : eq(auditRecords.action, action),
    hasFailed === undefined ? undefined : hasFailed ? gte(status, FAILURE) : lt(status, FAILURE),
  )
}
